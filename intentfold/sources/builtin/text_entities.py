"""Things to describe: their attributes, how each is put into a sentence, and the words that give it away."""


from __future__ import annotations

from dataclasses import dataclass

from intentfold.sources.builtin.vocabulary import (
    CITY,
    CLOCK,
    COLOUR,
    CUISINE,
    DATE,
    LANGUAGE,
    MODEL_NAMES,
    MONTH,
    PERSON,
    TITLE,
    WEEKDAY,
    Composed,
    Integer,
    Kind,
    one_of,
    words,
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: sentences that state it, the phrases that count as stating it, words that no other attribute uses."""

    slot: str
    kind: Kind
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing to describe; the first attribute is its name."""

    asks: tuple[str, ...]
    attributes: tuple[Attribute, ...]


def named(slot: str, kind: Kind, *sentences: str) -> Attribute:
    """The name: its value anywhere states it."""
    return Attribute(slot, kind, sentences, ("{value}",), ())


def word(slot: str, kind: Kind, cue: str, *sentences: str) -> Attribute:
    """An attribute whose value, wherever it stands, states it."""
    return Attribute(slot, kind, sentences, ("{value}",), (cue,))


def amount(slot: str, kind: Kind, unit: str, *sentences: str) -> Attribute:
    """A number with its unit: `{value} unit` states it."""
    return Attribute(slot, kind, sentences, (f"{{value}} {unit}",), (unit,))


MODEL = Composed("{} {}", (MODEL_NAMES, tuple(map(str, range(10, 100)))))

ENTITIES = (
    Entity(
        ("describe a restaurant", "write about a restaurant", "draft a text on a restaurant"),
        (
            named("restaurant name", TITLE, "{subject} is a restaurant.", "{subject} is a place to eat."),
            word(
                "cuisine", CUISINE, "cooking", "{subject} is known for {value} cooking.", "The cooking at {subject} is {value}."
            ),
            word("town", CITY, "town", "You find {subject} in the town of {value}.", "{subject} is in the town {value}."),
            amount(
                "number of tables",
                Integer(3, 60),
                "tables",
                "There are {value} tables at {subject}.",
                "{subject} has {value} tables.",
            ),
            word("chef", PERSON, "chef", "The chef is {value}.", "{value} is the chef of {subject}."),
            word(
                "price level",
                one_of("cheap|moderate|average|upscale|costly|luxurious"),
                "prices",
                "The prices are {value}.",
                "Guests call the prices {value}.",
            ),
            word("closing day", WEEKDAY, "closed", "{subject} is closed on {value}.", "On {value} it is closed."),
            word(
                "dress code",
                one_of("casual|smart|formal|festive|sporty|black tie"),
                "dress code",
                "The dress code is {value}.",
                "{subject} has a {value} dress code.",
            ),
            word("opening time", CLOCK, "opens", "{subject} opens at {value}.", "It opens at {value}."),
            word(
                "music",
                one_of("jazz|folk|piano|opera|flamenco|tango|blues|harp"),
                "music",
                "Guests hear {value} music.",
                "There is {value} music in the evening.",
            ),
            amount(
                "age in years", Integer(1, 90), "years old", "The house is {value} years old.", "{subject} is {value} years old."
            ),
        ),
    ),
    Entity(
        ("describe a phone", "write a product text for a phone", "introduce a phone"),
        (
            named("phone model", MODEL, "The {subject} is a phone.", "Meet the {subject}, a phone for every day."),
            amount(
                "battery hours",
                Integer(8, 72),
                "hours of battery",
                "It offers {value} hours of battery life.",
                "The {subject} runs for {value} hours of battery time.",
            ),
            amount(
                "screen size",
                Integer(4, 14),
                "inch screen",
                "It has a {value} inch screen.",
                "The {subject} comes with a {value} inch screen.",
            ),
            word("colour", COLOUR, "finish", "The finish is {value}.", "The {subject} comes in a {value} finish."),
            amount(
                "camera resolution",
                Integer(8, 200),
                "megapixels",
                "The camera takes {value} megapixels.",
                "Photos have {value} megapixels.",
            ),
            amount(
                "storage",
                Integer(16, 990),
                "gigabytes",
                "It stores {value} gigabytes.",
                "The {subject} keeps {value} gigabytes of data.",
            ),
            word("designer", PERSON, "designed", "It was designed by {value}.", "{value} designed the {subject}."),
            word("release month", MONTH, "released", "It was released in {value}.", "The {subject} was released in {value}."),
            amount("weight", Integer(90, 320), "grams", "It weighs {value} grams.", "The {subject} weighs just {value} grams."),
            word(
                "case material",
                one_of("aluminium|glass|bamboo|ceramic|leather|steel|titanium|cork"),
                "body",
                "Its body is made of {value}.",
                "The {subject} has a {value} body.",
            ),
            amount(
                "warranty",
                Integer(12, 72),
                "months of warranty",
                "Buyers get {value} months of warranty.",
                "It comes with {value} months of warranty.",
            ),
        ),
    ),
    Entity(
        ("describe a hotel room", "write a listing for a hotel room", "present a hotel room"),
        (
            named("room name", TITLE, "{subject} is a hotel room.", "The room is called {subject}."),
            amount(
                "floor space",
                Integer(12, 95),
                "square metres",
                "{subject} measures {value} square metres.",
                "It has {value} square metres.",
            ),
            word(
                "bed",
                one_of("single|double|queen|king|bunk|canopy|sofa"),
                "bed",
                "Guests sleep in a {value} bed.",
                "{subject} has a {value} bed.",
            ),
            word(
                "window side",
                one_of("north|east|south|west|courtyard|river|harbour|park"),
                "faces",
                "It faces the {value} side.",
                "{subject} faces the {value} side.",
            ),
            word("wall colour", COLOUR, "walls", "The walls are {value}.", "{subject} has {value} walls."),
            word(
                "check-in hour", CLOCK, "check-in", "The check-in is at {value}.", "For {subject} the check-in starts at {value}."
            ),
            amount(
                "nightly price",
                Integer(35, 480),
                "euros",
                "A night costs {value} euros.",
                "{subject} costs {value} euros a night.",
            ),
            word(
                "welcome drink",
                one_of("tea|coffee|cider|lemonade|cocoa|mint water|ginger ale|apple juice"),
                "welcome",
                "Guests get {value} as a welcome.",
                "A welcome of {value} awaits the guests.",
            ),
            amount(
                "stairs to climb",
                Integer(2, 96),
                "stairs",
                "There are {value} stairs to climb.",
                "You climb {value} stairs to {subject}.",
            ),
            word(
                "flooring",
                one_of("oak|marble|bamboo|carpet|cork|slate|linoleum|terracotta"),
                "flooring",
                "The flooring is {value}.",
                "{subject} has {value} flooring.",
            ),
            word("host", PERSON, "looked after", "Guests are looked after by {value}.", "{subject} is looked after by {value}."),
        ),
    ),
    Entity(
        ("describe a course", "announce a course", "write the text for a course brochure"),
        (
            named("course title", TITLE, "{subject} is a course for adults.", "The course is called {subject}."),
            word("teacher", PERSON, "taught", "It is taught by {value}.", "{subject} is taught by {value}."),
            amount("weeks", Integer(2, 40), "weeks", "It lasts {value} weeks.", "{subject} takes {value} weeks."),
            word("weekday", WEEKDAY, "meets", "The group meets on {value}.", "{subject} meets every {value}."),
            word(
                "teaching language",
                LANGUAGE,
                "language",
                "The language of the lessons is {value}.",
                "{subject} is held in the {value} language.",
            ),
            amount(
                "participants",
                Integer(4, 90),
                "participants",
                "There is room for {value} participants.",
                "{subject} takes {value} participants.",
            ),
            word("start date", DATE, "begins", "It begins on {value}.", "{subject} begins on {value}."),
            word(
                "level",
                one_of("beginner|elementary|intermediate|advanced|expert|mixed"),
                "level",
                "The level is {value}.",
                "It suits the {value} level.",
            ),
            amount("fee", Integer(20, 900), "euros", "The fee is {value} euros.", "Taking part costs {value} euros."),
            word(
                "exam form",
                one_of("oral|written|practical|online|take-home|portfolio"),
                "exam",
                "It ends with a {value} exam.",
                "The exam is {value}.",
            ),
            word("city", CITY, "campus", "The campus is in {value}.", "{subject} takes place on the campus in {value}."),
        ),
    ),
    Entity(
        ("describe a concert", "announce a concert", "write about a concert"),
        (
            named("concert title", TITLE, "{subject} is a concert.", "The concert has the title {subject}."),
            word("soloist", PERSON, "soloist", "The soloist is {value}.", "{value} is the soloist."),
            word("concert date", DATE, "takes place", "It takes place on {value}.", "{subject} takes place on {value}."),
            word("concert city", CITY, "stage", "The stage is in {value}.", "{subject} comes to a stage in {value}."),
            amount("number of musicians", Integer(2, 90), "musicians", "There are {value} musicians.", "{value} musicians play."),
            word(
                "style",
                one_of("baroque|jazz|folk|romantic|modern|gospel|klezmer|ragtime|swing"),
                "style",
                "The style is {value}.",
                "They play in {value} style.",
            ),
            amount("duration", Integer(35, 240), "minutes", "It lasts {value} minutes.", "{subject} runs for {value} minutes."),
            amount("ticket price", Integer(5, 150), "euros", "Tickets cost {value} euros.", "A ticket is {value} euros."),
            word("doors open", CLOCK, "doors", "The doors open at {value}.", "At {value} the doors open."),
            word(
                "sponsor",
                Composed(
                    "{} Foundation",
                    (words("Alder Birch Cedar Delta Ember Fern Granite Heron Indigo Jasper Kestrel Larch Maple Nimbus Osprey"),),
                ),
                "sponsored",
                "It is sponsored by the {value}.",
                "The {value} sponsored the evening.",
            ),
            word(
                "encore",
                one_of("waltz|polka|lullaby|march|tango|hymn|serenade|nocturne"),
                "encore",
                "The encore is a {value}.",
                "A {value} comes as the encore.",
            ),
        ),
    ),
    Entity(
        ("describe an apartment", "write a housing ad", "present an apartment"),
        (
            named(
                "building name",
                TITLE,
                "{subject} is a building with a free apartment.",
                "The apartment is in the building {subject}.",
            ),
            amount("number of rooms", Integer(1, 12), "rooms", "It has {value} rooms.", "The apartment offers {value} rooms."),
            amount("rent", Integer(300, 2900), "euros", "The rent is {value} euros.", "Tenants pay {value} euros a month."),
            word(
                "heating",
                one_of("gas|oil|electric|solar|wood|geothermal|district"),
                "heating",
                "There is {value} heating.",
                "The heating is {value}.",
            ),
            word("quarter", CITY, "quarter", "The quarter is called {value}.", "It lies in the quarter {value}."),
            amount("floor number", Integer(1, 40), "floors up", "It lies {value} floors up.", "Tenants live {value} floors up."),
            word("landlord", PERSON, "owned", "It is owned by {value}.", "{subject} is owned by {value}."),
            word("move-in date", DATE, "available", "It is available from {value}.", "From {value} it is available."),
            word("kitchen colour", COLOUR, "kitchen", "The kitchen is {value}.", "It has a {value} kitchen."),
            amount(
                "walk to the tram",
                Integer(2, 45),
                "minutes",
                "The tram is {value} minutes away.",
                "It is {value} minutes from the tram.",
            ),
            word(
                "pet rule",
                one_of("cats only|small dogs|no pets|birds only|any pet|fish only"),
                "rule",
                "The house rule says {value}.",
                "For animals the rule is {value}.",
            ),
        ),
    ),
    Entity(
        ("describe a bicycle", "write a product text for a bicycle", "advertise a bicycle"),
        (
            named("bicycle model", MODEL, "The {subject} is a bicycle.", "The {subject} is a bicycle for long rides."),
            amount("gears", Integer(1, 30), "gears", "It has {value} gears.", "The {subject} shifts through {value} gears."),
            word("frame colour", COLOUR, "frame", "The frame is {value}.", "It has a {value} frame."),
            amount("weight", Integer(6, 28), "kilos", "It weighs {value} kilos.", "The {subject} weighs {value} kilos."),
            word(
                "brakes",
                one_of("disc|rim|coaster|hydraulic|drum|cable"),
                "brakes",
                "It stops with {value} brakes.",
                "The {subject} has {value} brakes.",
            ),
            word("builder", PERSON, "built", "It was built by {value}.", "{value} built the {subject}."),
            amount("price", Integer(90, 990), "euros", "It sells for {value} euros.", "The {subject} costs {value} euros."),
            word(
                "saddle material",
                one_of("leather|gel|foam|carbon|cork|rubber"),
                "saddle",
                "The saddle is made of {value}.",
                "It has a {value} saddle.",
            ),
            amount(
                "load",
                Integer(60, 190),
                "kilos of load",
                "It carries {value} kilos of load.",
                "The {subject} takes {value} kilos of load.",
            ),
            word(
                "rider type",
                one_of("commuters|racers|children|travellers|couriers|beginners"),
                "suits",
                "It suits {value}.",
                "The {subject} suits {value}.",
            ),
            word("home town", CITY, "workshop", "The workshop is in {value}.", "It comes from a workshop in {value}."),
        ),
    ),
    Entity(
        ("describe an exhibition", "write about an exhibition", "announce a museum exhibition"),
        (
            named("exhibition title", TITLE, "{subject} is an exhibition.", "The exhibition is called {subject}."),
            word("curator", PERSON, "curator", "The curator is {value}.", "{value} is its curator."),
            amount("works on show", Integer(8, 400), "works", "It shows {value} works.", "Visitors see {value} works."),
            word("closing date", DATE, "until", "It is open until {value}.", "{subject} runs until {value}."),
            word("museum city", CITY, "museum", "The museum is in {value}.", "{subject} is at a museum in {value}."),
            word(
                "theme",
                one_of("armour|birds|bridges|clocks|costumes|fossils|islands|maps|masks|mirrors|robots|toys|trains"),
                "theme",
                "The theme is {value}.",
                "Its theme is {value}.",
            ),
            amount("entry price", Integer(2, 40), "euros", "Entry costs {value} euros.", "The entry is {value} euros."),
            word("guide language", LANGUAGE, "tours", "There are tours in {value}.", "Guides give {value} tours."),
            amount("halls", Integer(2, 25), "halls", "It fills {value} halls.", "{subject} spreads over {value} halls."),
            word("free day", WEEKDAY, "free", "On {value} it is free.", "It is free every {value}."),
            word("wall colour", COLOUR, "walls", "The walls are {value}.", "It hangs on {value} walls."),
        ),
    ),
    Entity(
        ("describe a hiking trail", "write about a hiking trail", "recommend a hiking trail"),
        (
            named("trail name", TITLE, "{subject} is a hiking trail.", "The trail bears the name {subject}."),
            amount(
                "length", Integer(2, 95), "kilometres", "It is {value} kilometres long.", "{subject} covers {value} kilometres."
            ),
            amount(
                "climb",
                Integer(60, 1900, 10),
                "metres of climb",
                "There are {value} metres of climb.",
                "It has {value} metres of climb.",
            ),
            word("starting point", CITY, "starts", "It starts in {value}.", "{subject} starts in {value}."),
            word(
                "difficulty",
                one_of("easy|gentle|moderate|demanding|hard|extreme"),
                "rated",
                "It is rated {value}.",
                "Walkers rated {subject} as {value}.",
            ),
            word("best month", MONTH, "best", "It is best in {value}.", "{subject} is at its best in {value}."),
            word("waymark colour", COLOUR, "signs", "Follow the {value} signs.", "The signs are {value}."),
            amount("walking time", Integer(1, 26), "hours", "It takes {value} hours.", "Plan {value} hours."),
            word("warden", PERSON, "warden", "The warden is {value}.", "{value} is the warden."),
            amount("bridges", Integer(1, 30), "bridges", "You cross {value} bridges.", "{subject} has {value} bridges."),
            word(
                "typical animal",
                one_of("badger|beaver|deer|eagle|fox|heron|ibex|lynx|marmot|otter|owl|stork"),
                "meet",
                "You may meet a {value}.",
                "Hikers often meet a {value}.",
            ),
        ),
    ),
    Entity(
        ("write a job ad", "describe a job opening", "draft a job advert"),
        (
            named("company name", TITLE, "{subject} is hiring.", "{subject} has a job to offer."),
            word(
                "job title",
                one_of(
                    "accountant|analyst|baker|carpenter|cook|designer|driver|editor|electrician|florist|gardener|nurse|painter|pilot|plumber|tailor|teacher|welder"
                ),
                "looking for",
                "{subject} is looking for: {value}.",
                "The firm is looking for: {value}.",
            ),
            amount(
                "weekly hours",
                Integer(8, 45),
                "hours a week",
                "The job takes {value} hours a week.",
                "You work {value} hours a week.",
            ),
            amount("salary", Integer(1200, 8900, 50), "euros", "The pay is {value} euros.", "It pays {value} euros a month."),
            word("office city", CITY, "office", "The office is in {value}.", "You work at the office in {value}."),
            word("start month", MONTH, "start", "You start in {value}.", "The start is in {value}."),
            word("contact", PERSON, "apply", "Please apply to {value}.", "To apply, write to {value}."),
            word("required language", LANGUAGE, "speak", "You speak {value}.", "Applicants speak {value}."),
            amount(
                "vacation days", Integer(18, 45), "days off", "There are {value} days off a year.", "You get {value} days off."
            ),
            amount("team size", Integer(2, 60), "colleagues", "You join {value} colleagues.", "There are {value} colleagues."),
            word(
                "shift",
                one_of("early|late|night|flexible|split|weekend"),
                "shift",
                "It is a {value} shift.",
                "You work the {value} shift.",
            ),
        ),
    ),
    Entity(
        ("describe a train", "write about a train service", "present a new train service"),
        (
            named("train name", MODEL, "The {subject} is a train.", "The {subject} is a new train service."),
            word("first stop", CITY, "departs", "It departs from {value}.", "The {subject} departs from {value}."),
            word("last stop", CITY, "bound", "It is bound for {value}.", "The {subject} is bound for {value}."),
            amount(
                "top speed",
                Integer(80, 380),
                "kilometres an hour",
                "It reaches {value} kilometres an hour.",
                "The {subject} runs at {value} kilometres an hour.",
            ),
            amount("coaches", Integer(2, 24), "coaches", "It has {value} coaches.", "The {subject} pulls {value} coaches."),
            word("departure time", CLOCK, "leaves", "It leaves at {value}.", "The {subject} leaves at {value}."),
            word("livery colour", COLOUR, "painted", "It is painted {value}.", "The {subject} is painted {value}."),
            amount("seats", Integer(60, 900), "seats", "There are {value} seats.", "It offers {value} seats."),
            word("rest day", WEEKDAY, "does not run", "It does not run on {value}.", "On {value} it does not run."),
            word(
                "catering",
                one_of("bistro|buffet|snack trolley|vending machine|tea bar|picnic boxes"),
                "refreshments",
                "For refreshments there is: {value}.",
                "Refreshments come from the {value}.",
            ),
            word("driver", PERSON, "driven", "It is driven by {value}.", "The {subject} is driven by {value}."),
        ),
    ),
    Entity(
        ("describe an animal for adoption", "write an adoption notice", "introduce a shelter animal"),
        (
            named("animal name", PERSON, "{subject} is waiting for a home.", "{subject} lives at the shelter."),
            word(
                "species",
                one_of("cat|dog|donkey|duck|ferret|goat|goose|guinea pig|hamster|parrot|pony|rabbit|sheep|tortoise"),
                "kind of animal",
                "The kind of animal: {value}.",
                "What kind of animal? A {value}.",
            ),
            amount("age", Integer(1, 40), "years old", "{subject} is {value} years old.", "The animal is {value} years old."),
            word("coat colour", COLOUR, "coat", "The coat is {value}.", "{subject} has a {value} coat."),
            word(
                "temper",
                one_of("calm|shy|playful|stubborn|gentle|curious|lively|proud"),
                "temper",
                "The temper is {value}.",
                "{subject} has a {value} temper.",
            ),
            word(
                "favourite food",
                one_of("carrots|clover|fish|hay|oats|pears|seeds|sweetcorn|turkey|yoghurt"),
                "eats",
                "{subject} gladly eats {value}.",
                "The animal eats {value} most of all.",
            ),
            word("shelter city", CITY, "shelter is", "The shelter is in {value}.", "Our shelter is located in {value}."),
            word("keeper", PERSON, "keeper", "The keeper is {value}.", "{value} is the keeper."),
            amount("weight", Integer(1, 90), "kilos", "The weight is {value} kilos.", "{subject} weighs {value} kilos."),
            word("arrival date", DATE, "arrived", "{subject} arrived on {value}.", "The animal arrived on {value}."),
            amount("adoption fee", Integer(10, 250), "euros", "The fee is {value} euros.", "Adoption costs {value} euros."),
        ),
    ),
)
