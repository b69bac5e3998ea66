"""The parts of speech that the patterns of the rules are made of, each an alternation.

The character U+E000 holds the place of what is protected: code, an address, a quotation.
"""

from typing import Final

FRAMES: Final = (  # before "that"
    r"(?:(?:please )?(?:also )?note(?:,? however,?)?|"
    r"it (?:is|'s) (?:also )?(?:important|worth|useful|interesting|helpful) (?:to (?:note|"
    r"mention|point out|remember|keep in mind|understand)|noting|mentioning|pointing out|"
    r"remembering)|"
    r"it should be noted|it is noted|keep in mind|bear in mind|be aware|recall|remember|"
    r"observe|we note|it turns out|it is (?:clear|true|obvious|the case)|the point is|"
    r"as you (?:know|see))"
)
ASIDES: Final = (  # before a comma
    r"(?:as (?:a|an) (?:general rule|matter of fact|side note|aside)|"
    r"in (?:general|fact|particular|practice|addition|essence|short|summary|conclusion|"
    r"other words|any case|this (?:section|document|chapter|way|sense|regard|respect))|"
    r"additionally|furthermore|moreover|also|similarly|likewise|specifically|notably|basically|"
    r"essentially|interestingly|importantly|obviously|clearly|of course|generally speaking|"
    r"as (?:usual|always|such|(?:already |previously )?(?:mentioned|noted|discussed|described|"
    r"stated|explained)(?: (?:above|before|earlier|previously))?)|in turn|at the same time|"
    r"on top of that|besides|indeed|to be clear|on the one hand|"
    r"by (?:the way|definition)|needless to say|in the same way|surely)"
)
REFERENCES: Final = (
    (
        r",? ?\(?(?:[Aa]s|which (?:is|was)|[Ll]ike) (?:already |previously |briefly )?(?:described|"
        r"mentioned|discussed|noted|explained|shown|stated|outlined|defined|seen|specified|listed) "
        r"(?:above|below|earlier|previously|before|later|here)\)?,?(?= [a-z]|[.;:]|$)"
    ),
    (
        r" ?\((?:see|cf\.|as) (?:above|below|also below|also above|later|earlier|"
        r"(?:the )?(?:next|previous|following) section)\)"
    ),
    (
        r",? (?:as )?(?:described|discussed|explained|detailed|outlined|defined) "
        r"(?:above|below)(?=[.,;:])"
    ),
)
FILLERS: Final = (
    r"(?:very|really|simply|basically|actually|essentially|certainly|obviously|clearly|naturally|"
    r"indeed|truly|in fact|of course|in particular|in essence|also|please|"
    r"in the process of|the (?:process|act|task) of(?= \w+ing\b))"
)
NO_MODAL: Final = (  # "do not have to" is no "must not"
    r"(?<!not )(?<!n't )(?<!may )(?<!ght )(?<!ill )(?<!'ll )(?<!uld )(?<!ust )(?<!to )(?<!can )"
    r"(?<!ever )(?<!nger )(?<!do )(?<!oes )(?<!did )"
)
THAT_VERBS: Final = (
    r"(?:(?:say|mean|ensure|assume|suggest|believe|think|know|show|indicate|require|propose|note|state|"
    r"argue|claim|guarantee|expect|hope|find|feel|imply|realize|realise|decide|agree|recommend|"
    r"conclude|confirm|prove|suppose|imagine|see|hear|tell|wish|observe|report|mention|explain|"
    r"verify|specify|check)"
    r"(?:s|d|ed|ing)?|implies|implied|specif(?:ies|ied)|verif(?:ies|ied)|said|meant|thought|"
    r"knew|known|shown|found|felt|told|saw|sure|so|aware|clear|likely|possible|idea)"
)
SUBJECTS: Final = (
    r"(?:(?:the|an?|its?|we|they|their|this|these|those|there|your?|s?he|his|her|I|all|any|each|"
    r"every|some|both|such|our|my|one|many|most|no|if|when)\b|[A-Z\ue000]|"
    r"(?!(?:is|are|was|were|be|has|have|had|do|does|did|can|could|may|might|will|would|should|must|"
    r"shall|not|never|only|of|to|in|on|for|with|by|at|from)\b)[a-z]+ )"
)
NO_NOUN: Final = (
    r"(?:of|in|on|for|to|with|by|from|at|after|before|when|if|all|and|or|but|not|so|because|than|as|"
    r"once|until|where|while|is|are|was|were|be|only|everything|anything|nothing|those|something|"
    r"that|which|what|one|ones)"
)
PREDICATES: Final = (  # that say the same without a copula
    r"(?:(?:being )?\w{2,}(?:ed|ing)\b(?! to)|(?:used|made|built|given|known|written|in|on|at|from|"
    r"within|inside|outside|under|above|below|between|part|available|specific|relevant|related|"
    r"compatible|responsible|necessary|needed)\b)"
)
NO_PREDICATES: Final = (
    r"(?:not|why|how|what|where|when|because|if|to|also|only|that|who|whether|no|never|it|they|"
    r"we|you|i[ts])"
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
    r"(?:and|but|because|so|although|though|if|unless|until|whereas|then|eg|ie)"
)
NO_ASIDE: Final = rf"(?! ?[^,.;:]{{1,40}}, (?!{LINKS}\b))"  # whose other comma would stay
OPENING_WORDS: Final = (
    r"(So|Now|Then|But|And|Or|Thus|Here|First|Second|Third|Next|Finally|Lastly|Instead|Otherwise|"
    r"Currently|Ideally|Unfortunately|Fortunately|Typically|Usually|Often|Sometimes|Again|However|"
    r"Hence|Therefore|Rather|Today|Later|Eventually|Initially|Originally|Historically|Technically|"
    r"[A-Z][a-z]+ly|Meanwhile|Soon|"
    r"so|but|and|or|yet|then|last|too|however|therefore|instead|eg|ie|here|first)"
)
_KEEP_A = (
    r"(?:few|little|lot|bit|day|week|month|year|second|minute|hour|time|while|priori|posteriori|"
    r"hundred|thousand|million|billion|dozen|half|third|quarter|couple|certain)\b"
)
_KEEP_THE = (
    r"(?:other|one|ones|more|less|only|latter|former|rest|two|better|fewer|north|"
    r"south|east|west|northern|southern|eastern|western|summer|winter|spring|autumn|morning|"
    r"evening|night|middle|few|many|several|all|both|only|three|four|five|six|seven|eight|nine|ten|"
    r"above|below|following|inside|outside|like|past|present|then|over|under|up|down|off|back|well|"
    r"still|right|left|(?:same|first|last|second|next)(?! [a-z])|\w+ing|\w+ed)\b"
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
    r"(?<!\bparameter )(?<!\bvector )"
)
_NO_NAME = (  # before it `a` is a name too
    r"(?!(?:if|be|is|are|was|were|to|and|or|of|in|on|at|by|from|with|for|as|than|then|but|when|where|"
    r"while|until|unless|because|so|has|had|does|equals|means|denotes|stands|must|should|may|might|"
    r"could|would|will|shall|can|not)(?![\w-]))"
)
# Without it, what follows "to" is a verb, and what opens a sentence an order.
ARTICLE: Final = (
    rf"(?<!\bto )(?<!^)(?<!^ )\b(?:the (?!{_KEEP_THE})(?=[a-z\ue000\[*])"
    rf"|{_LETTER}an? (?!{_KEEP_A}){_NO_NAME}(?=[a-zA-Z\ue000\[*]))"
)
