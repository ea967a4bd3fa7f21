"""Tables to ask about: what their rows are, their columns, and now and then a second table that they refer to."""


from __future__ import annotations

from dataclasses import dataclass

from intentfold.sources.builtin.vocabulary import (
    CITY,
    COLOUR,
    CUISINE,
    FIRST_NAME,
    LANGUAGE,
    MODEL_NAMES,
    MONTH,
    PERSON,
    TITLE,
    WEEKDAY,
    Composed,
    Decimal,
    Integer,
    Kind,
    one_of,
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column; users call it `noun`."""

    name: str
    noun: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Parent:
    """A table that rows refer to by its name; the nouns of its columns are unlike those of the rows' own."""

    table: str
    reference: str
    names: Kind
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """A table of `things`, each with a name in column `key`."""

    table: str
    things: str
    key: str
    names: Kind
    asks: tuple[str, ...]
    texts: tuple[Column, ...]
    numbers: tuple[Column, ...]
    parent: Parent | None = None


def columns(*triples: tuple[str, str, Kind]) -> tuple[Column, ...]:
    """Columns from (name, noun, kind)."""
    return tuple(Column(*triple) for triple in triples)


MODEL = Composed("{} {}", (MODEL_NAMES, tuple(map(str, range(100, 1000)))))
DISTRICT = one_of(
    "Abbey|Canal|Cathedral|Docks|Fairground|Garden|Harbour|Hill|Market|Mill|Museum|North|Old Town|Park|River|Station|Tannery|West"
)

DOMAINS = (
    Domain(
        "books",
        "books",
        "title",
        TITLE,
        ("look something up in the book catalogue", "query the bookshop's table", "find some books in the database"),
        columns(
            ("genre", "genre", one_of("biography|crime|drama|essay|fantasy|history|horror|poetry|romance|satire|science|travel")),
            ("language", "language", LANGUAGE),
            ("author", "author", PERSON),
            ("binding", "binding", one_of("hardback|paperback|leather|spiral|audio|e-book")),
        ),
        columns(
            ("price", "price", Decimal(4, 60, 0.5)),
            ("pages", "page count", Integer(60, 900, 10)),
            ("year", "publication year", Integer(1950, 2024)),
            ("stock", "stock", Integer(0, 90)),
        ),
        Parent(
            "publishers",
            "publisher",
            TITLE,
            columns(
                ("city", "publisher city", CITY),
                ("founded", "founding year", Integer(1850, 2010)),
                ("staff", "publisher staff", Integer(4, 300)),
            ),
        ),
    ),
    Domain(
        "employees",
        "employees",
        "name",
        PERSON,
        ("search the staff table", "find employees in the database", "query the employee records"),
        columns(
            (
                "job",
                "job title",
                one_of(
                    "accountant|analyst|buyer|cook|designer|driver|engineer|lawyer|nurse|planner|porter|tester|trainer|writer"
                ),
            ),
            ("home_city", "home city", CITY),
            ("contract", "contract", one_of("full time|part time|seasonal|temporary|freelance|trainee")),
        ),
        columns(
            ("salary", "salary", Integer(1800, 9000, 50)),
            ("age", "age", Integer(19, 66)),
            ("years", "service years", Integer(0, 35)),
            ("vacation", "vacation days", Integer(18, 40)),
        ),
        Parent(
            "departments",
            "department",
            TITLE,
            columns(
                ("site", "department site", CITY),
                ("budget", "department budget", Integer(10, 900, 10)),
                ("floor", "floor", Integer(1, 20)),
            ),
        ),
    ),
    Domain(
        "products",
        "products",
        "product",
        MODEL,
        ("query the product table", "look for products in the shop database", "list some products"),
        columns(
            ("category", "category", one_of("audio|camera|garden|kitchen|lamp|office|phone|sport|storage|tool|toy|watch")),
            ("colour", "colour", COLOUR),
            ("material", "material", one_of("aluminium|bamboo|ceramic|glass|leather|oak|plastic|rubber|steel|wool")),
        ),
        columns(
            ("price", "price", Decimal(3, 480, 0.5)),
            ("weight", "weight", Decimal(0.1, 20, 0.1)),
            ("stock", "stock", Integer(0, 300)),
            ("rating", "rating", Decimal(1, 5, 0.1)),
        ),
        Parent(
            "suppliers",
            "supplier",
            TITLE,
            columns(
                ("country_city", "supplier city", CITY),
                ("delivery_days", "delivery days", Integer(1, 40)),
                ("score", "supplier score", Integer(1, 100)),
            ),
        ),
    ),
    Domain(
        "flights",
        "flights",
        "flight",
        MODEL,
        ("search the flight schedule", "query the flights table", "find flights in the database"),
        columns(
            ("origin", "origin", CITY),
            ("destination", "destination", CITY),
            ("weekday", "weekday", WEEKDAY),
            ("aircraft", "aircraft", one_of("jet|turboprop|wide body|regional|glider|seaplane|cargo")),
        ),
        columns(
            ("fare", "fare", Integer(40, 900, 5)),
            ("minutes", "flight minutes", Integer(35, 800, 5)),
            ("seats", "free seats", Integer(0, 220)),
            ("stops", "stops", Integer(0, 6)),
        ),
        Parent(
            "airlines",
            "airline",
            TITLE,
            columns(
                ("base", "airline base", CITY),
                ("fleet", "fleet size", Integer(3, 250)),
                ("punctuality", "punctuality", Integer(40, 99)),
            ),
        ),
    ),
    Domain(
        "matches",
        "matches",
        "fixture",
        Composed(
            "{} v {}",
            (
                ("Rovers", "United", "Wanderers", "Athletic", "Rangers", "Albion", "Harriers", "Swifts", "Rockets", "Corsairs"),
                ("Hawks", "Foxes", "Badgers", "Otters", "Herons", "Wolves", "Stags", "Falcons", "Lynxes", "Ravens"),
            ),
        ),
        ("look through the match results", "query the sports database", "find matches in the results table"),
        columns(
            ("venue", "venue", CITY),
            ("referee", "referee", PERSON),
            ("competition", "competition", one_of("cup|league|friendly|youth|final|derby|play-off")),
            ("month", "month", MONTH),
        ),
        columns(
            ("home_goals", "home goals", Integer(0, 9)),
            ("away_goals", "away goals", Integer(0, 9)),
            ("attendance", "attendance", Integer(500, 60000, 100)),
            ("cards", "cards", Integer(0, 12)),
        ),
    ),
    Domain(
        "recipes",
        "recipes",
        "recipe",
        TITLE,
        ("search the recipe collection", "query the recipes table", "find recipes in the database"),
        columns(
            ("cuisine", "cuisine", CUISINE),
            ("course", "course", one_of("starter|main|dessert|snack|breakfast|side|drink")),
            ("difficulty", "difficulty", one_of("easy|fair|medium|hard|expert|novice")),
            ("cook", "cook", FIRST_NAME),
        ),
        columns(
            ("minutes", "cooking minutes", Integer(5, 180, 5)),
            ("calories", "calories", Integer(80, 1200, 10)),
            ("ingredients", "ingredients", Integer(3, 25)),
            ("likes", "likes", Integer(0, 900)),
        ),
    ),
    Domain(
        "hotels",
        "hotels",
        "hotel",
        TITLE,
        ("search the hotel table", "query the hotel database", "look for hotels"),
        columns(
            ("city", "city", CITY),
            ("district", "district", DISTRICT),
            ("board", "board", one_of("none|breakfast|half|full|all inclusive|dinner")),
        ),
        columns(
            ("stars", "stars", Integer(1, 5)),
            ("price", "room price", Integer(35, 480, 5)),
            ("rooms", "rooms", Integer(6, 400)),
            ("distance", "distance", Decimal(0.1, 15, 0.1)),
        ),
        Parent(
            "owners",
            "owner",
            PERSON,
            columns(
                ("seat", "owner seat", CITY),
                ("hotels_owned", "hotels owned", Integer(1, 60)),
                ("since", "owner since", Integer(1960, 2023)),
            ),
        ),
    ),
    Domain(
        "songs",
        "songs",
        "title",
        TITLE,
        ("query the song archive", "find songs in the music database", "search the song table"),
        columns(
            ("genre", "genre", one_of("blues|choral|disco|folk|funk|jazz|opera|punk|reggae|rock|salsa|soul|techno")),
            ("artist", "artist", PERSON),
            ("language", "language", LANGUAGE),
            ("mood", "mood", one_of("calm|dark|dreamy|happy|sad|tense|warm|wild")),
        ),
        columns(
            ("seconds", "seconds", Integer(90, 480, 5)),
            ("year", "release year", Integer(1955, 2024)),
            ("plays", "plays", Integer(100, 90000, 100)),
            ("tempo", "tempo", Integer(60, 190)),
        ),
        Parent(
            "labels",
            "label",
            TITLE,
            columns(
                ("city", "label city", CITY),
                ("artists", "signed artists", Integer(2, 120)),
                ("opened", "label founding", Integer(1930, 2015)),
            ),
        ),
    ),
    Domain(
        "courses",
        "courses",
        "course",
        TITLE,
        ("look through the course list", "query the course database", "find courses in the table"),
        columns(
            (
                "subject",
                "subject",
                one_of("algebra|art|biology|chemistry|drama|ethics|geology|history|law|logic|music|physics|poetry"),
            ),
            ("weekday", "weekday", WEEKDAY),
            ("room", "building", DISTRICT),
            ("level", "level", one_of("basic|first year|second year|master|doctoral|evening")),
        ),
        columns(
            ("credits", "credits", Integer(1, 12)),
            ("students", "enrolled students", Integer(3, 180)),
            ("fee", "fee", Integer(0, 900, 10)),
            ("weeks", "weeks", Integer(2, 30)),
        ),
        Parent(
            "teachers",
            "teacher",
            PERSON,
            columns(
                ("origin", "teacher home town", CITY),
                ("experience", "teaching years", Integer(1, 40)),
                ("score", "teacher score", Integer(1, 100)),
            ),
        ),
    ),
    Domain(
        "apartments",
        "apartments",
        "listing",
        MODEL,
        ("search the apartment listings", "query the housing table", "find apartments in the database"),
        columns(
            ("city", "city", CITY),
            ("heating", "heating", one_of("gas|oil|electric|district|heat pump|wood|solar")),
            ("district", "district", DISTRICT),
            ("agent", "agent", PERSON),
        ),
        columns(
            ("rent", "rent", Integer(300, 3000, 10)),
            ("area", "floor area", Integer(18, 240)),
            ("rooms", "rooms", Integer(1, 9)),
            ("floor", "floor", Integer(0, 25)),
        ),
    ),
    Domain(
        "vehicles",
        "vehicles",
        "vehicle",
        MODEL,
        ("query the vehicle fleet", "search the fleet table", "find vehicles in the fleet database"),
        columns(
            ("fuel", "fuel", one_of("diesel|electric|gas|hybrid|hydrogen|petrol")),
            ("colour", "colour", COLOUR),
            ("driver", "driver", PERSON),
            ("body", "body type", one_of("bus|coupe|estate|saloon|truck|van|pickup|trailer")),
        ),
        columns(
            ("mileage", "mileage", Integer(500, 250000, 500)),
            ("year", "model year", Integer(1998, 2024)),
            ("seats", "seats", Integer(1, 60)),
            ("payload", "payload", Integer(100, 9000, 100)),
        ),
        Parent(
            "depots",
            "depot",
            CITY,
            columns(
                ("manager", "depot manager", PERSON),
                ("bays", "depot bays", Integer(4, 90)),
                ("opened", "depot founding", Integer(1960, 2020)),
            ),
        ),
    ),
    Domain(
        "patients",
        "visits",
        "visit",
        MODEL,
        ("query the clinic's visits", "search the visit records", "find visits in the clinic database"),
        columns(
            ("ward", "ward", one_of("cardiology|dental|eye|general|neurology|paediatric|skin|surgery")),
            ("doctor", "doctor", PERSON),
            ("month", "month", MONTH),
            ("insurance", "insurance", one_of("basic|private|public|travel|student|none")),
        ),
        columns(
            ("age", "patient age", Integer(1, 97)),
            ("minutes", "visit minutes", Integer(5, 120, 5)),
            ("cost", "cost", Integer(10, 900, 5)),
            ("wait", "waiting days", Integer(0, 60)),
        ),
    ),
    Domain(
        "films",
        "films",
        "film",
        TITLE,
        ("search the film archive", "query the film table", "find films in the archive"),
        columns(
            (
                "genre",
                "genre",
                one_of("comedy|crime|documentary|drama|fantasy|horror|musical|mystery|romance|thriller|war|western"),
            ),
            ("language", "language", LANGUAGE),
            ("director", "director", PERSON),
            ("format", "format", one_of("black and white|colour|silent|animated|digital|short")),
        ),
        columns(
            ("year", "release year", Integer(1925, 2024)),
            ("minutes", "running time", Integer(45, 240)),
            ("rating", "rating", Decimal(1, 10, 0.1)),
            ("budget", "budget", Integer(1, 200)),
        ),
        Parent(
            "studios",
            "studio",
            TITLE,
            columns(
                ("city", "studio city", CITY),
                ("stages", "studio stages", Integer(1, 40)),
                ("founded", "studio founding", Integer(1905, 2010)),
            ),
        ),
    ),
    Domain(
        "trees",
        "trees",
        "tag",
        MODEL,
        ("query the tree register", "search the city's tree table", "find trees in the register"),
        columns(
            (
                "species",
                "species",
                one_of("alder|ash|beech|birch|cedar|elm|hazel|larch|lime|maple|oak|pine|plane|poplar|rowan|spruce|willow|yew"),
            ),
            ("park", "park", TITLE),
            ("health", "health", one_of("good|fair|poor|dead|young|pruned")),
            ("surveyor", "surveyor", PERSON),
        ),
        columns(
            ("height", "height", Decimal(1, 40, 0.5)),
            ("age", "age", Integer(1, 300)),
            ("girth", "girth", Integer(5, 400, 5)),
            ("planted", "planting year", Integer(1850, 2023)),
        ),
    ),
    Domain(
        "orders",
        "orders",
        "order_code",
        MODEL,
        ("look up orders", "query the order table", "find orders in the sales database"),
        columns(
            ("customer", "customer", PERSON),
            ("status", "status", one_of("open|packed|sent|delivered|returned|cancelled|on hold")),
            ("city", "shipping city", CITY),
            ("payment", "payment", one_of("card|cash|invoice|transfer|voucher|wallet")),
        ),
        columns(
            ("total", "order total", Decimal(5, 900, 0.5)),
            ("items", "items", Integer(1, 60)),
            ("weight", "weight", Decimal(0.5, 40, 0.5)),
            ("days", "delivery days", Integer(1, 45)),
        ),
        Parent(
            "warehouses",
            "warehouse",
            TITLE,
            columns(
                ("place", "warehouse city", CITY),
                ("capacity", "warehouse capacity", Integer(100, 9000, 100)),
                ("workers", "warehouse workers", Integer(3, 250)),
            ),
        ),
    ),
)
