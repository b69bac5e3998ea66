"""The parts of speech that the patterns of the rules are made of, each an alternation.

The character U+E000 holds the place of what is protected: code, an address, a quotation.
"""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

from typing import Final

FRAMES: Final = (  # before "that"
    r"(?:(?:please )?(?:also )?note|"
    r"it (?:is|'s) (?:also )?(?:important|worth|useful|interesting|helpful) (?:to (?:note|"
    r"mention|point out|remember|keep in mind|understand)|noting|mentioning|pointing out|"
    r"remembering)|"
    r"it should be noted|it is noted|keep in mind|bear in mind|be aware|recall|remember|"
    r"observe|we note|it turns out|it is (?:clear|true|obvious|the case)|the point is|"
    r"as you (?:know|see))"
)
ASIDES: Final = (  # before a comma
    r"(?:as (?:a|an) (?:matter of fact|side note|aside)|"
    r"in (?:fact|particular|addition|essence|short|summary|conclusion|"
    r"other words|any case|this (?:section|document|chapter))|"
    r"additionally|furthermore|moreover|also|similarly|likewise|specifically|notably|basically|"
    r"essentially|interestingly|importantly|obviously|clearly|of course|"
    r"as (?:usual|always|such|(?:already |previously )?(?:mentioned|noted|discussed|described|"
    r"stated|explained)(?: (?:above|before|earlier|previously))?)|"
    r"on top of that|besides|indeed|to be clear|on the one hand|"
    r"by (?:the way|definition)|needless to say)"
)
# Without it, "is as described above" and "the option which is described above" are not whole.
_NEEDED = "".join(
    rf"(?<!\b{word} )"
    for word in (
        "except",
        "Except",
        "same",
        "just",
        "exactly",
        "such",
        "is",
        "are",
        "was",
        "were",
        "be",
    )
)
_POINTING_BACK: Final = (
    rf"(?:{_NEEDED}[Aa]s|(?<=, )which (?:is|was)|{_NEEDED}[Ll]ike) "
    r"(?:already |previously |briefly )?(?:described|"
    r"mentioned|discussed|noted|explained|shown|stated|outlined|defined|seen|specified|listed) "
    r"(?:above|below|earlier|previously|before|later|here)"
)
REFERENCES: Final = (
    rf",? ?\({_POINTING_BACK}\),?(?= [a-z]|[.;:]|$)",
    rf"(?<!\(),? ?(?<!\(){_POINTING_BACK}(?:,(?= [a-z])|(?= [a-z]|[.;:)]|$))",
    (
        r" ?\((?:see|cf\.|as) (?:above|below|also below|also above|later|earlier|"
        r"(?:the )?(?:next|previous|following) section)\)"
    ),
    (
        r"(?:, as|(?<!\bas),) (?:described|discussed|explained|detailed|outlined|defined) "
        r"(?:above|below)(?=[.,;:])"
    ),
)
FILLERS: Final = (
    r"(?:(?<!\bto )very(?! (?:likely|unlikely)\b)|really|simply|"
    r"actually|indeed|in fact|(?<!matter )of course|in essence|"
    r"(?:(?<=, )|(?<=and )|(?<=or )|(?<=but )|(?<=so )|(?<=then ))please|"
    r"in the process of|the (?:process|act|task) of(?= \w+ing\b))"
)
NO_MODAL: Final = (  # "do not have to" is no "must not"
    r"(?<!not )(?<!n't )(?<!may )(?<!ght )(?<!ill )(?<!'ll )(?<!uld )(?<!ust )(?<!to )(?<!can )"
    r"(?<!ever )(?<!nger )(?<!do )(?<!oes )(?<!did )(?<!now )(?<!lso )(?<!hen )(?<!till )(?<!nly )"
    r"(?<!ust )(?<!ly )(?<!ways )(?<!ven )(?<!ften )"
)
THAT_VERBS: Final = (
    r"(?:(?:say|mean|ensure|assume|suggest|believe|think|know|show|indicate|require|propose|note|state|"
    r"argue|claim|guarantee|expect|hope|find|feel|imply|realize|realise|decide|agree|recommend|"
    r"conclude|confirm|prove|suppose|imagine|see|hear|tell|wish|observe|report|mention|explain|"
    r"verify|specify|check|acknowledge|announce|anticipate|clarify|determine|demonstrate|discover|"
    r"emphasi[sz]e|enforce|learn|predict|remind|reveal|stipulate|understand|"
    r"validate)"
    r"(?:s|d|ed|ing)?|implies|implied|specif(?:ies|ied)|verif(?:ies|ied)|said|meant|thought|"
    r"knew|known|shown|found|felt|told|saw|understood|sure|so|aware|clear|clearer|likely|possible|important|surprising|idea)"
)
# "It is required that the gate" is no "it is required gate".
NO_COPULA: Final = "".join(
    rf"(?<!{word} )" for word in (r"\bis", "'s", r"\bare", r"\bwas", r"\bbe", r"\bbeen")
)
# What "that" opens behind these is a statement, not a relative clause: "the fact that calls fail".
STATED: Final = (
    r"(?:(?:fact|assumption|requirement|claim|idea|belief|hope|guarantee|observation|conclusion|"
    r"argument|expectation|possibility|risk|chance|concern|fear|evidence|knowledge|notion|view|"
    r"principle|rule|condition|constraint|invariant|promise|insight|suggestion|proposal|decision|"
    r"hypothesis|statement|sense|reason|point|case|time|doubt|sign|proof|reminder|warning|"
    r"understanding|impression|feeling|theory|worry|thought|caveat|problem|issue|advantage|"
    r"disadvantage|benefit|downside|drawback|difference|effect|restriction|limitation|property)s?|"
    r"such|now|given|provided|possibilities|hypotheses|theories|worries|properties)"
)
SUBJECTS: Final = (
    r"(?:(?:the|an?|its?|we|they|their|this|these|those|there|your?|s?he|his|her|I|all|any|each|"
    r"every|some|both|such|our|my|one|many|most|no)\b|[A-Z\ue000]|"
    r"(?!(?:is|are|was|were|be|has|have|had|do|does|did|can|could|may|might|will|would|should|must|"
    r"shall|not|never|only|of|to|in|on|for|with|by|at|from|if|when|whenever|where|whether|unless|"
    r"what|which|who|how|why|once|while|after|before|because|since|until|as|though|although)\b)"
    r"[a-z]+[^suia']s )"  # of many, so that "that" is no pointer
)
# Not behind these: "the manner in which" is no place.
MANNER: Final = "".join(
    rf"(?<!\b{word} )" for word in ("way", "ways", "manner", "fashion", "order", "sense", "degree")
)
NO_MEASURE: Final = "".join(  # "it works as well" may say how well
    rf"(?<!\b{word})"
    for word in (
        "work",
        "works",
        "do",
        "does",
        "run",
        "runs",
        "perform",
        "performs",
        "scale",
        "scales",
        "just",
        "equally",
        "almost",
        "nearly",
        "quite",
    )
)
NO_FREQUENCY: Final = "".join(
    rf"(?<!\b{word} )"
    for word in ("usually", "often", "generally", "typically", "mostly", "mainly", "always")
)
A_CLAUSE: Final = (  # behind "in which", where it opens no question
    r"(?:(?:the|an?|its?|we|they|their|this|these|those|there|you|he|she|each|all|every|any|no|one|"
    r"users?)\b|\ue000)"
)
# A pause behind these, before what can only be a subject, has no meaning.
SHORT_OPENING: Final = (
    r"In (?:this|these|that|those|some|many|most|such|other|both|all) [a-z]+(?: [a-z]+)?"
)
PRONOUNS: Final = r"(?:it|we|they|you|he|she|I|this|that|these|those|there)"
# "Now that we" is no statement, and "if you need that you" has no clause behind "that".
NO_STATEMENT: Final = (
    r"(?:[Nn]ow|[Ss]uch|do|does|did|done|doing|needs?|wants?|uses?|avoids?|prevents?|fix|fixes|removes?|"
    r"changes?|likes?|takes?|makes?|gives?|tries|try|gets?|has|have|had)"
)
NOMINATIVE: Final = r"(?:we|they|I|he|she|there)\b"
NO_NOUN: Final = (
    r"(?:of|in|on|for|to|with|by|from|at|after|before|when|if|all|and|or|but|not|so|because|than|as|"
    r"once|until|where|while|is|are|was|were|be|only|everything|anything|nothing|those|something|"
    r"via|per|into|onto|over|under|through|about|against|without|within|upon|off|up|out|down|"
    r"that|which|what|one|ones)"
)
PREDICATES: Final = (  # that say the same without a copula
    r"(?:(?:being )?\w{2,}(?:ed|ing)\b(?! to)|(?:used|made|built|given|known|written|"
    r"in(?! turn\b)|on|at|from|within|inside|outside|under|above|below|between|available|"
    r"specific|relevant|related|compatible|responsible|necessary|needed)\b"
    r"|(?:similar|equal|identical|equivalent|different|close|common|visible|accessible|useful|suitable|"
    r"capable|dependent|independent|subject|local|private|internal|external|unique|free|present|full|"
    r"unaware|aware|inside|outside|ready|safe|easy|hard|difficult|simple) "
    r"(?:to|from|for|of|in|on|by|with|at|as|within)\b)"
)
# A verb is followed by no other: "so that calls are" is about calls.
A_VERB: Final = (
    r"(?! (?:of|that|is|are|was|were|has|have|had|does|do|did|can|could|may|might|must|will|would|"
    r"should)\b)"
)
# A participle has no second verb: "a gate that opens and shuts" is no "gate opening and shuts".
ONE_VERB: Final = r"(?![^.;:]*\b(?:and|or|but)\b)"
ONE_CLAUSE: Final = (  # the same, where a second participle may follow
    r"(?![^.;:]*\b(?:and|or|but)(?: (?:then |also )?(?:is|are|was|were|has|have|had|does|do|did|"
    r"can|could|may|might|must|will|would|should)\b| ?$))"
)
ASKING: Final = (  # what "which" opens behind these is a question
    r"(?:\w+(?:ing|ed)|(?:know|decide|determine|see|choose|select|specify|identify|say|tell|define|"
    r"describe|control|ask|show|check|find|indicate|understand|remember|explain|discover|pick|track|"
    r"configure|judge|guess|learn|record|report|state|mark|limit|restrict|list|note)s?|specifies|"
    r"identifies|about|on|knew|known|chose|found|saw|told|said)"
)
NO_PREDICATES: Final = (
    r"(?:not|why|how|what|where|when|because|if|to|also|only|that|who|whether|no|never|it|they|"
    r"we|you|i[ts]|in|on|at|by|from|with|within|for|under|(?:\w+ ){0,2}the case)"
)
LINKS: Final = (
    r"(?:and|or|but|because|so|when|while|where|which|who|though|although|since|as|then|eg|ie|"
    r"like|with|without|including|by|for|in|if|unless|from|using|even|rather|except|at|on|to|via|"
    r"per|it|we|they|you|he|she|I|there|instead|however|therefore|too|etc|that|nor|until|"
    r"before|after|once|whereas|depending|especially|regardless|either|ensuring|"
    r"preferably|namely|otherwise|against|between|"
    r"through|during|within|across|among|making|allowing|causing|given|despite|whether|"
    r"meaning|leading|resulting|thus|under|over|into|just|only)"
)
PAUSED: Final = (  # a pause before these has no meaning: it makes no clause part of a noun
    rf"(?:and|but|because|so(?= (?:(?:{PRONOUNS}|the|an?|all|your|our|its|their)\b|\ue000))|"
    rf"although|though|until|whereas|"
    rf"then(?! (?:(?:{PRONOUNS}|the|an?)\b|\ue000))|eg|ie)"
)
NO_ASIDE: Final = rf"(?! ?[^,.;:]{{1,40}}, (?!{LINKS}\b))"  # whose other comma would stay
OPENING_WORDS: Final = (
    r"(So|Now|Then|But|And|Or|Thus|Here|First|Second|Third|Next|Finally|Lastly|Instead|Otherwise|"
    r"Currently|Ideally|Unfortunately|Fortunately|Typically|Usually|Often|Sometimes|Again|However|"
    r"Hence|Therefore|Rather|Today|Later|Eventually|Initially|Originally|Historically|Technically|"
    r"[A-Z][a-z]+ly|Meanwhile|Soon|"
    r"so|but|and|or|yet|then|last|too|however|therefore|instead|eg|ie|here|first)"
)
# "If it was a boat, however, a problem will come": what is before is a whole clause there.
NO_BOUNDARY: Final = (
    r"(?:(?<=\bis)|(?<=\bare)|(?<=\bwas)|(?<=\bwere)|(?<=\bcan)|(?<=\bmay)|(?<=\bwill)|(?<=\bmust)|"
    r"(?<=\bshould)|(?<=\bmight)|(?<=\bcould)|(?<=\bwould)|(?<=\bhas)|(?<=\bhave)|(?<=\bdo)|"
    r"(?<=\bdoes)|(?<='s)|(?<='re)|(?<='ll)|(?<=\bthat)|(?<=\bif)|(?<=\band)|(?<=\bbut))"
)
# Inside a sentence, the others may end what opens it: "while it is here, we wait".
LINKING_WORDS: Final = r"(so|but|and|or|however|therefore|eg|ie)"
_KEEP_A = (
    r"(?:few|little|lot|bit|day|week|month|year|second|minute|hour|time|while|priori|posteriori|"
    r"hundred|thousand|million|billion|dozen|half|third|quarter|tenth|fifth|couple|certain|way(?=[,.])|(?:kilo|mega|giga|tera)byte|"
    r"(?<=\bas a )(?:result|rule|whole)|\w+ at a time)\b"
)
INTRODUCING: Final = (  # what comes before the subject
    r"(?i:if|when|whenever|while|after|before|as|since|once|until|unless|because|although|though|"
    r"rather|where|by|to|in|on|at|with|for|during|from|given|without|using|instead|besides|except|despite|unlike|within|under|through|via|per)"
)
COMPARATIVES: Final = (
    r"(?:more|less|higher|lower|faster|slower|larger|smaller|bigger|longer|shorter|greater|closer|"
    r"deeper|earlier|later|older|newer|better|worse|fewer|easier|harder|stronger|weaker)"
)
_IDIOM = (  # not said without the article
    r"(?:(?<=own the )road|(?<=nder the )hood|(?<=ehind the )scenes|(?<=of the )box|"
    r"(?<=on the )fly|(?<=n the )(?:end(?! of)|wild|long run|loop)|(?<=cross the )board|"
    r"(?<=ff the )shelf|(?<=t the )moment|(?<=long the )way|"
    r"(?<=or the )most part|(?<=of the )(?:time|day)(?=[.,;:]))"
)
_KEEP_THE = (
    rf"(?:{_IDIOM}|"
    r"other|one|ones|more|less|only|latter|former|rest|two|better|fewer|north|"
    r"south|east|west|northern|southern|eastern|western|summer|winter|spring|autumn|morning|"
    r"evening|night|middle|few|many|several|all|both|only|three|four|five|six|seven|eight|nine|ten|"
    r"above|below|following|inside|outside|like|past|present|then|over|under|up|down|off|back|well|"
    r"still|right|left|case of|case(?=[,.;:)]|$)|\w+ ones?|"
    r"(?:same|first|last|second|next|old|new|best|worst|opposite)(?! (?!(?:and|or)\b)[a-z])|"
    r"(?!(?:string|thing|sibling|ceiling|need|speed|seed|feed|bed|existing|underlying|enclosing|"
    r"surrounding)\b)(?:\w+ing|\w+ed))\b"
)
INSIDE_NAMES: Final = r"(?:of|on|for|in|and|to|at|de)"
ROLES: Final = (  # of reStructuredText
    r"(?:func|meth|class|mod|attr|data|exc|obj|const|ref|doc|term|file|keyword|option|envvar|program|"
    r"command|samp|member|macro|type|any|download|guilabel|kbd|token|opcode|mailheader)"
)
_LETTER = (  # behind it `a` is a name, no article
    r"(?<!\boption )(?<!\boptions )(?<!\bpoint )(?<!\bpoints )(?<!\b[Ll]et )(?<!\b[Pp]ress )"
    r"(?<!\bkey )(?<!\bvariable )(?<!\bvalue of )(?<!\bvalues of )(?<!\bvariables )(?<!\bletter )"
    r"(?<!\bcase )(?<!\bset )(?<!\bnode )(?<!\bstep )(?<!\bitem )(?<!\bcolumn )(?<!\bconstant )"
    r"(?<!\bparameter )(?<!\bvector )(?<! -[a-z] )"
)
_NO_NAME = (  # before it `a` is a name too
    r"(?!(?:if|be|is|are|was|were|to|and|or|of|in|on|at|by|from|with|for|as|than|then|but|when|where|"
    r"while|until|unless|because|so|has|had|does|equals|means|denotes|stands|must|should|may|might|"
    r"could|would|will|shall|can|not|[b-z])(?![\w'’-]))"
)
# Without it, what follows "to" is a verb, and what opens a sentence an order.
ARTICLE: Final = (
    rf"(?<!-)(?<!\bto )(?<!\bthat )(?<!\bthis )(?<!\bone )(?<!irst )(?<!\bnext )"
    r"(?<!\blast )(?<!^)(?<!^ )\b"
    rf"(?:the (?!{_KEEP_THE})(?=[a-z\ue000\[*])"
    rf"|{_LETTER}an? (?!{_KEEP_A}){_NO_NAME}(?=[a-zA-Z\ue000\[*]))"
)
# Words that are no verb, so that they are none behind "to" or where a sentence begins either.
# Nouns of one who does something, and of a state; the others may be verbs.
_DOER = (
    r"(?!(?:enter|alter|order|offer|refer|differ|consider|deliver|discover|cover|recover|uncover|"
    r"trigger|register|filter|buffer|render|transfer|monitor|factor|mirror|error|favor|honor|labor|"
    r"author|number|answer|bother|gather|lower|wonder|remember|matter|power|finger|layer|suffer|utter|"
    r"center|cater|ponder|master|foster|border|tender|temper|whisper|shower|cluster|counter|encounter|"
    r"barter|better|batter|bolster|broker|butter|wander|hinder|sever|shelter|slaughter|splinter|"
    r"stutter|surrender|taper|tamper|water|minister|administer|pioneer|engineer|volunteer|steer|veer|"
    r"peer|doctor|tutor|sponsor|censor|anchor|harbor|tailor|color|armor|humor|infer|confer|defer|"
    r"prefer|maneuver|plaster|pester|muster|monster|never|ever|over|under|after|other|another|rather|"
    r"whether|either|neither|former|latter|upper|inner|outer|later|earlier|further|larger|smaller|"
    r"bigger|longer|shorter|older|newer|stronger|weaker|faster|slower|cleaner|clearer|closer|deeper|"
    r"easier|fewer|greater|harder|heavier|lighter|nicer|poorer|richer|simpler|stricter|together|"
    r"unregister|reorder|pointer|hammer|ladder|litter|murder|paper|proper|quarter|ransom|saber|sober|"
    r"sweeter|tether|thunder|timber|weather|wither|slower)\b)[a-z]{3,}(?:er|or)"
)
_STATE = (
    r"(?!(?:reference|influence|sequence|experience|silence|evidence|balance|finance|distance|advance|"
    r"enhance|glance|dance|fence|hence|whence|commence|sentence|license|instance|preference|"
    r"countenance|ambulance|nuance|romance)\b)[a-z]{3,}(?:ance|ence)"
)
_NO_VERB = (
    rf"(?:{_DOER}|{_STATE}|"
    r"(?!(?:alias|others|news|means)\b)\w+[^\Wsuia']s|"
    r"(?!(?:equal|signal|deal|seal|steal|reveal|appeal|heal|conceal|rival|total|trial|initial|final|"
    r"several)\b)\w{2,}al|"
    r"(?!(?:give|live|drive|arrive|archive|dive|derive|deprive|strive|survive|revive|forgive|thrive|"
    r"five)\b)\w{2,}ive|(?!(?:panic|mimic|traffic|frolic|picnic)\b)\w{2,}ic|"
    r"\w{2,}(?:ous|ology|ism|[^p]ity)|"
    r"(?!(?:(?:en|dis|un)able|table|cable)\b)\w{3,}[ai]ble|(?!(?:witness|harness)\b)\w{3,}ness|"
    r"(?!(?:comment|document|implement|experiment|supplement|complement|increment|decrement|augment|"
    r"segment|torment|cement|fragment|ferment|lament|compliment|instrument|ornament)\b)\w{3,}ment|"
    r"(?!(?:function|mention|question|position|condition|caution|section|partition|transition|station|"
    r"motion|auction|ration|portion|action|petition|fashion|commission|envision|provision|proportion|"
    r"sanction)\b)\w{2,}[ts]ion|"
    r"proposal|goal|problem|protocol|feature|user|client|server|compiler|controller|scheduler|"
    r"validator|allocator|attacker|developer|maintainer|orchestrator|operator|interpreter|kernel|"
    r"system|runtime|repository|library|algorithm|method|community|committee|council|policy|syntax|"
    r"semantics|behaviou?r|language|database|directory|metadata|software|timestamp|idea|way|world|"
    r"event|namespace|subset|new|current|main|core|previous|single|particular|local|full|public|"
    r"generic|stable|entire|valid|whole|wider|broader|larger|smaller|higher|lower|newer|older|simple|"
    r"simplest|latest|appropriate|specific|additional|proposed|existing|underlying|corresponding|"
    r"resulting|remaining|primary|internal|external|relevant|common|typical|minimum|maximum|standard|"
    r"major|minor|custom|different|e2e|top-level)"
)
FINITE = (  # no noun is written so
    r"(?:is|are|was|were|must|should|may|might|can|could|will|would|has|had|have|does|did|shall|"
    r"allows|provides|contains|describes|defines|requires|ensures|enables|specifies|implements|"
    r"introduces|determines|represents|receives|exists|remains|depends|consists|creates|generates|"
    r"becomes|gives|makes|takes|goes|comes|seems|appears|says|wants|knows|means|began|said|went|came|"
    r"took|made|gave|became|agreed|decided|allowed|provided|required)"
)
# Between a noun that opens a sentence and its verb: with one of these the noun is not yet whole.
_NO_PART: Final = (
    r"(?:of|in|on|to|for|with|by|from|at|as|than|that|which|who|and|or|but|if|when|where|while|"
    r"because|it|we|you|they|he|she|one|this|these|those|there|what|how|not|is|are|was|were)"
)
_NO_ADVERB = (  # without an article, these would say when, how much or which
    r"(?:first|second|third|last|next|final|later|earlier|early|late|further|most|least|very|so|too|"
    r"much|no|all|half|even|just|still|right|hard|fast|long|likely|daily|set|let|\w+ly)"
)
_WHOLE = rf"(?!{_NO_ADVERB}\b)(?:(?!{_NO_PART} )[a-z]+ ){{2,3}}{FINITE}"
_NO_NOUN_THERE = (  # behind an article, they may have no noun of their own
    r"(?:other|others|one|only|same|first|second|third|last|next|most|least|best|worst|more|less|"
    r"former|latter|rest|two|three|few|many|poor|rich|old|young|dead|above|latest|newest|oldest|whole|"
    r"new|current|main|previous|simplest|minimum|maximum|remaining|existing|proposed|resulting|"
    r"will|might|can|must|may|have|do|let)"
)
_NAMED = (  # acronyms, and names in one word; words in capitals for emphasis stay
    r"(?:(?!(?:AND|OR|NOT|IF|MUST|SHOULD|MAY|SHALL|IN|AS|ON|IS|NO|ALL|ANY|NONE|TO|DO|ONLY|OTHER|"
    r"SAME|REST|FIRST|LAST|MOST|LEAST|LITTLE|FEW|LOT)\b)"
    r"(?:[A-Z]{2,6}s?|[A-Z][a-z]+[A-Z]\w*)\b(?! [A-Z]))"
)
_CLEAR = rf"(?!{_KEEP_A}|{_KEEP_THE})(?!{_NO_NOUN_THERE} (?:of|{FINITE})\b)"
_NO_OWN_NOUN = (  # behind these, "the ...ed" is a noun itself: "of the accused and ..."
    r"(?:is|are|was|were|of|to|by|in|on|for|and|or|but|with|as|at|that|which|who|above|below|"
    r"earlier|later|here|through)"
)
_PREPOSED = "|".join(
    rf"(?<=\b{word} )" for word in ("of", "in", "on", "for", "with", "by", "from", "into")
)
_SUBJECT_NOUN = rf"(?:[a-z]+ of|(?!(?:set|let)\b)[a-z]+ {FINITE}|{_WHOLE})"
CLEAR_SUBJECT: Final = rf"{_CLEAR}(?:(?:{_SUBJECT_NOUN}|{_NO_VERB})\b|{_NAMED}|\ue000)"
ARTICLES_BEFORE_NOUNS: Final = (
    rf"(?<=\bto )(?:the|an?) (?={_CLEAR}(?:(?:\w+ of|{_NO_VERB})\b|{_NAMED}|\ue000))",
    rf"^(?:The|An?) (?={CLEAR_SUBJECT})",
    rf"(?<!^)(?<!^ )\bthe (?=following (?!{FINITE}\b)(?:[a-z]+ ){{0,3}}[a-z]+:$)",
    rf"(?<!^)(?<!^ )\bthe (?={_NAMED})",
    rf"(?:{_PREPOSED})the (?=[a-z]+ed (?!{_NO_OWN_NOUN}\b)[a-z])",
)
