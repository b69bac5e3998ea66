"""Libraries that actors share: logs of failures, source search, edits, work trees and programs."""
