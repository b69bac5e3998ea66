"""Logs of failures, source search, edits, work trees and programs: libraries that actors share."""
