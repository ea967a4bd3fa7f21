"""Functions to call: what they take, how users ask for them, and what an agent might conclude on the way."""
# ruff: noqa: E501  (a table: one row, one line)

from __future__ import annotations

from dataclasses import dataclass

from intentfold.sources.builtin.vocabulary import (
    CITY,
    CLOCK,
    CODE,
    COLOUR,
    CUISINE,
    DATE,
    FIRST_NAME,
    LANGUAGE,
    MONTH,
    PERSON,
    STREET,
    SURNAME,
    TITLE,
    WEEKDAY,
    YES_NO,
    Decimal,
    Integer,
    Kind,
    one_of,
)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function; users call it `slot`, or one of `spoken`."""

    name: str
    slot: str
    kind: Kind
    spoken: tuple[str, ...]


def arg(name: str, slot: str, kind: Kind, *spoken: str) -> Argument:
    """An `Argument`, briefly."""
    return Argument(name, slot, kind, spoken)


@dataclass(frozen=True, slots=True)
class Function:
    """A function. The first `required` arguments are required; `asks` complete "I'd like you to …"."""

    name: str
    description: str
    asks: tuple[str, ...]
    required: int
    arguments: tuple[Argument, ...]
    conclusions: tuple[tuple[str, str], ...]
    personal: tuple[str, ...] = ()  # slots that may hold for one person or part alone
    after: tuple[tuple[str, str], ...] = ()  # (slot, the slot that must be stated before it)


FUNCTIONS = (
    Function(
        "book_flight",
        "Book seats on a flight.",
        ("book a flight", "get plane tickets", "sort out a flight", "reserve seats on a plane"),
        3,
        (
            arg("origin", "departure city", CITY, "city I leave from"),
            arg("destination", "destination city", CITY, "city I fly to"),
            arg("date", "departure date", DATE, "day of the flight"),
            arg("return_date", "return date", DATE, "date of the flight back"),
            arg("passengers", "number of passengers", Integer(1, 9), "passenger count"),
            arg(
                "cabin",
                "cabin class",
                one_of("basic economy|economy|premium economy|business|first|flexible economy"),
                "class of travel",
            ),
            arg("seat", "seat preference", one_of("window|aisle|middle|front row|exit row|rear"), "kind of seat"),
            arg("bags", "number of checked bags", Integer(0, 12), "bags to check in"),
            arg("max_stops", "maximum number of stops", Integer(0, 5), "stopover limit"),
            arg(
                "meal",
                "onboard meal",
                one_of("vegetarian|vegan|kosher|halal|gluten free|fruit plate|standard"),
                "meal on the plane",
            ),
            arg("frequent_flyer", "frequent flyer number", CODE, "loyalty number"),
        ),
        (
            ("flight route", "{departure city} to {destination city}"),
            ("flight summary", "{destination city} on {departure date}"),
            ("bags per passenger", "={number of checked bags} / {number of passengers}"),
        ),
        ("onboard meal", "seat preference"),
        (("return date", "departure date"),),
    ),
    Function(
        "reserve_hotel",
        "Reserve hotel rooms.",
        ("reserve a hotel", "book a place to stay", "find a hotel room", "arrange accommodation"),
        3,
        (
            arg("city", "hotel city", CITY, "town of the hotel"),
            arg("check_in", "check-in date", DATE, "arrival day"),
            arg("nights", "number of nights", Integer(1, 30), "length of stay"),
            arg("rooms", "number of rooms", Integer(1, 12), "room count"),
            arg("bed", "bed type", one_of("single|twin|double|queen|king|bunk|sofa bed"), "kind of bed"),
            arg("stars", "minimum star rating", Integer(1, 5), "hotel stars"),
            arg("price_cap", "maximum price per night", Integer(50, 480, 10), "nightly price limit"),
            arg(
                "board", "board plan", one_of("room only|breakfast|half board|full board|all inclusive|dinner only"), "meal plan"
            ),
            arg("pool", "swimming pool", YES_NO, "pool"),
            arg("view", "room view", one_of("sea|garden|city|mountain|courtyard|lake|park"), "view from the room"),
            arg("guest", "guest name", PERSON, "name for the booking"),
        ),
        (
            ("stay summary", "{number of nights} nights in {hotel city}"),
            ("stay budget", "={number of nights} * {maximum price per night}"),
            ("room nights", "={number of nights} * {number of rooms}"),
        ),
        ("bed type", "room view"),
    ),
    Function(
        "book_restaurant",
        "Book a restaurant table.",
        ("book a table", "reserve a restaurant", "set up a dinner reservation", "find us somewhere to eat"),
        3,
        (
            arg("name", "restaurant name", TITLE, "name of the restaurant"),
            arg("date", "dinner date", DATE, "day of the dinner"),
            arg("guests", "number of guests", Integer(1, 20), "party size"),
            arg("time", "table time", CLOCK, "time of the table"),
            arg(
                "area",
                "seating area",
                one_of("terrace|main room|bar|garden|window side|upstairs|private room"),
                "part of the restaurant",
            ),
            arg("cuisine", "cuisine", CUISINE, "kind of food"),
            arg(
                "occasion",
                "occasion",
                one_of("birthday|anniversary|business|graduation|reunion|farewell|engagement"),
                "reason for the dinner",
            ),
            arg("high_chairs", "number of high chairs", Integer(1, 6), "high chairs for children"),
            arg("budget", "budget per person", Integer(15, 120, 5), "spending limit each"),
            arg("diet", "dietary need", one_of("vegan|vegetarian|nut free|gluten free|halal|kosher|dairy free"), "diet"),
        ),
        (
            ("table summary", "{restaurant name} for {number of guests}"),
            ("dinner budget", "={number of guests} * {budget per person}"),
            ("evening plan", "{restaurant name} at {table time}"),
        ),
        ("dietary need",),
    ),
    Function(
        "create_event",
        "Create a calendar event.",
        ("put something in my calendar", "schedule a meeting", "set up a calendar event", "plan a meeting"),
        3,
        (
            arg("title", "meeting title", TITLE, "name of the meeting"),
            arg("date", "meeting date", DATE, "day of the meeting"),
            arg("start", "start time", CLOCK, "time the meeting starts"),
            arg("minutes", "meeting length in minutes", Integer(15, 180, 5), "meeting duration"),
            arg("organizer", "organizer", PERSON, "host of the meeting"),
            arg("room", "meeting room", Integer(101, 420), "room number of the meeting"),
            arg(
                "repeat",
                "repetition",
                one_of("daily|weekly|every two weeks|monthly|quarterly|never|on weekdays"),
                "how often it repeats",
            ),
            arg("alert", "alert lead time in minutes", Integer(5, 60, 5), "minutes of warning"),
            arg("online", "video link", YES_NO, "online access"),
            arg("color", "calendar colour", COLOUR, "colour in the calendar"),
            arg("attendees", "number of attendees", Integer(2, 40), "people at the meeting"),
        ),
        (
            ("event summary", "{meeting title} on {meeting date}"),
            ("slot in the calendar", "{meeting date} at {start time}"),
            ("person minutes", "={number of attendees} * {meeting length in minutes}"),
        ),
    ),
    Function(
        "set_reminder",
        "Set a reminder.",
        ("set a reminder", "remind me about something", "create a reminder", "make sure I don't forget something"),
        2,
        (
            arg(
                "subject",
                "reminder subject",
                one_of(
                    "call the bank|water the herbs|renew the passport|pay the rent|pick up the parcel|book the dentist|charge the bike|back up the laptop|return the books|feed the cat|order the cake|send the invoice"
                ),
                "thing to remember",
            ),
            arg("date", "reminder date", DATE, "day to be reminded"),
            arg("time", "reminder time", CLOCK, "time of the reminder"),
            arg(
                "channel",
                "notification channel",
                one_of("email|text message|phone call|pop-up|watch|speaker"),
                "way to notify me",
            ),
            arg("repeat", "reminder frequency", one_of("once|hourly|daily|weekly|monthly|yearly"), "how often to remind me"),
            arg("snooze", "snooze minutes", Integer(1, 45), "minutes of snooze"),
            arg("sound", "alert sound", one_of("bell|chime|drum|whistle|harp|birdsong|marimba"), "sound of the alert"),
            arg("list", "reminder list", one_of("home|work|family|garden|travel|health|school"), "list for the reminder"),
            arg("shared_with", "person to share with", PERSON, "who else gets reminded"),
        ),
        (
            ("reminder summary", "{reminder subject} on {reminder date}"),
            ("reminder moment", "{reminder date} at {reminder time}"),
        ),
    ),
    Function(
        "set_thermostat",
        "Program the heating of a room.",
        ("program the heating", "adjust the thermostat", "change the heating schedule", "set the room climate"),
        2,
        (
            arg(
                "room",
                "heated room",
                one_of("kitchen|bedroom|living room|bathroom|study|hallway|attic|cellar|nursery|workshop"),
                "room to heat",
            ),
            arg("temperature", "target temperature", Decimal(15, 26, 0.5), "degrees to reach"),
            arg("mode", "heating mode", one_of("comfort|eco|boost|away|night|frost guard|holiday"), "thermostat mode"),
            arg("from_time", "heating start", CLOCK, "time the heating starts"),
            arg("hours", "heating hours", Integer(1, 20), "hours of heating"),
            arg("fan", "fan speed", one_of("low|medium|high|auto|off|silent"), "speed of the fan"),
            arg("day", "heating day", WEEKDAY, "weekday to heat"),
            arg("humidity", "target humidity", Integer(30, 65), "percent of humidity"),
            arg("locked", "child lock", YES_NO, "lock on the thermostat"),
            arg("tolerance", "temperature tolerance", Decimal(0.1, 2, 0.1), "allowed deviation"),
        ),
        (
            ("climate setting", "{heated room} at {target temperature} degrees"),
            ("weekly heating hours", "={heating hours} * 7"),
        ),
    ),
    Function(
        "order_delivery",
        "Order food for delivery.",
        ("order some food", "get food delivered", "place a takeaway order", "order in"),
        3,
        (
            arg(
                "dish",
                "dish",
                one_of(
                    "mushroom risotto|lentil soup|pumpkin curry|fish tacos|veggie burger|noodle salad|lamb stew|spinach pie|tomato pasta|rice bowl|falafel wrap|chicken skewers"
                ),
                "meal to order",
            ),
            arg("portions", "number of portions", Integer(1, 15), "portions"),
            arg("address", "delivery address", STREET, "address to deliver to"),
            arg("spice", "spice level", one_of("none|mild|medium|hot|very hot|extra hot"), "spiciness"),
            arg(
                "drink",
                "drink",
                one_of("lemonade|ginger beer|iced tea|apple juice|sparkling water|mango lassi|cola|oat milk"),
                "beverage",
            ),
            arg("time", "delivery time", CLOCK, "time of delivery"),
            arg("tip", "tip amount", Decimal(1, 9, 0.5), "tip for the courier"),
            arg("cutlery", "cutlery", YES_NO, "forks and knives"),
            arg(
                "side",
                "side dish",
                one_of("garlic bread|coleslaw|fries|green salad|pickles|hummus|olives|spring rolls"),
                "side order",
            ),
            arg("contact", "contact name", PERSON, "person at the door"),
        ),
        (
            ("order summary", "{number of portions} x {dish}"),
            ("drop-off", "{delivery address} at {delivery time}"),
        ),
        ("spice level",),
    ),
    Function(
        "send_parcel",
        "Send a parcel.",
        ("send a parcel", "ship a package", "post a parcel", "get a package shipped"),
        3,
        (
            arg("recipient", "recipient name", PERSON, "person who gets the parcel"),
            arg("to_city", "parcel destination", CITY, "city the parcel goes to"),
            arg("weight", "parcel weight in kilos", Decimal(0.5, 30, 0.5), "weight of the parcel"),
            arg("service", "shipping service", one_of("standard|express|overnight|economy|same day|freight"), "shipping speed"),
            arg("insurance", "insured value", Integer(50, 2000, 50), "insurance amount"),
            arg("pickup", "parcel pickup date", DATE, "day the parcel is collected"),
            arg(
                "contents",
                "parcel contents",
                one_of("books|ceramics|clothes|toys|tools|documents|spare parts|tea|shoes|glassware"),
                "what is inside",
            ),
            arg("signature", "signature on delivery", YES_NO, "signature"),
            arg("boxes", "number of boxes", Integer(1, 12), "box count"),
            arg("reference", "parcel reference", CODE, "shipment code"),
        ),
        (
            ("shipment summary", "parcel to {parcel destination} for {recipient name}"),
            ("total weight", "={parcel weight in kilos} * {number of boxes}"),
        ),
    ),
    Function(
        "call_taxi",
        "Order a taxi.",
        ("order a taxi", "get a cab", "arrange a ride", "call a taxi"),
        3,
        (
            arg("pickup", "pickup address", STREET, "address to be picked up"),
            arg("dropoff", "drop-off address", STREET, "where the ride ends"),
            arg("time", "pickup time", CLOCK, "time of the pickup"),
            arg("riders", "number of riders", Integer(1, 8), "people in the taxi"),
            arg("car", "car type", one_of("standard|estate|van|electric|wheelchair accessible|luxury|minibus"), "kind of taxi"),
            arg("suitcases", "number of suitcases", Integer(1, 10), "suitcases"),
            arg("child_seats", "number of child seats", Integer(1, 4), "child seats"),
            arg("payment", "taxi payment", one_of("cash|card|voucher|account|phone|invoice"), "way to pay the ride"),
            arg(
                "driver_note",
                "note to the driver",
                one_of("ring the bell|wait outside|call on arrival|use the back gate|no music|bring change"),
                "message for the driver",
            ),
            arg("shared", "shared ride", YES_NO, "ride sharing"),
        ),
        (
            ("ride", "{pickup address} to {drop-off address}"),
            ("pickup plan", "{pickup address} at {pickup time}"),
        ),
    ),
    Function(
        "rent_car",
        "Rent a car.",
        ("rent a car", "hire a car", "get a rental car", "arrange a hire car"),
        3,
        (
            arg("city", "rental city", CITY, "city where I collect the car"),
            arg("start", "rental start date", DATE, "first day of the rental"),
            arg("days", "rental days", Integer(1, 28), "days with the car"),
            arg(
                "model",
                "car category",
                one_of("mini|compact|saloon|estate|sports|electric|camper|convertible|pickup"),
                "size of the car",
            ),
            arg("driver", "driver name", PERSON, "main driver"),
            arg("age", "driver age", Integer(19, 80), "age of the driver"),
            arg("gearbox", "gearbox", one_of("manual|automatic|semi-automatic|any"), "transmission"),
            arg("mileage", "daily mileage limit", Integer(100, 900, 50), "kilometres per day"),
            arg("return_city", "return city", CITY, "city where the car goes back"),
            arg("roof_rack", "roof rack", YES_NO, "rack on the roof"),
            arg("insurance", "insurance cover", one_of("basic|standard|full|glass only|theft only|premium"), "cover for the car"),
        ),
        (
            ("rental summary", "{rental days} days from {rental city}"),
            ("total mileage", "={rental days} * {daily mileage limit}"),
        ),
    ),
    Function(
        "make_playlist",
        "Create a music playlist.",
        ("make a playlist", "put together some music", "create a music list", "build me a playlist"),
        2,
        (
            arg("name", "playlist name", TITLE, "title of the playlist"),
            arg(
                "genre",
                "music genre",
                one_of("jazz|folk|soul|ambient|disco|opera|salsa|reggae|techno|blues|swing|flamenco|bossa nova|chamber music"),
                "style of music",
            ),
            arg("songs", "number of songs", Integer(5, 120), "song count"),
            arg(
                "mood",
                "mood",
                one_of("calm|upbeat|melancholic|dreamy|energetic|romantic|focused|festive"),
                "feeling of the music",
            ),
            arg("decade", "decade", one_of("1950s|1960s|1970s|1980s|1990s|2000s|2010s|2020s"), "era of the songs"),
            arg("opening_artist", "opening artist", PERSON, "artist to start with"),
            arg("language", "lyrics language", LANGUAGE, "language of the songs"),
            arg("public", "public visibility", YES_NO, "visible to everyone"),
            arg("tempo", "beats per minute", Integer(60, 180), "tempo"),
            arg("fade", "crossfade seconds", Integer(1, 15), "seconds of crossfade"),
        ),
        (
            ("playlist summary", "{music genre} as {playlist name}"),
            ("estimated minutes", "={number of songs} * 4"),
        ),
    ),
    Function(
        "join_class",
        "Sign up for a gym class.",
        ("sign up for a gym class", "join a fitness class", "get into a workout class", "reserve a spot in a class"),
        3,
        (
            arg(
                "sport",
                "class type",
                one_of("yoga|pilates|spinning|boxing|rowing|zumba|climbing|stretching|barre|aqua fitness|judo"),
                "kind of class",
            ),
            arg("day", "class day", WEEKDAY, "weekday of the class"),
            arg("time", "class time", CLOCK, "time the class starts"),
            arg("level", "class level", one_of("beginner|basic|intermediate|advanced|expert|mixed"), "difficulty of the class"),
            arg("trainer", "trainer", PERSON, "who leads the class"),
            arg("spots", "number of spots", Integer(1, 8), "places in the class"),
            arg("weeks", "number of weeks", Integer(1, 30), "weeks of the course"),
            arg("mat", "rented mat", YES_NO, "mat rental"),
            arg("locker", "locker number", Integer(1, 200), "locker"),
            arg(
                "studio", "studio", one_of("north hall|south hall|roof deck|pool|basement|garden|glass room"), "room of the class"
            ),
        ),
        (
            ("class slot", "{class type} on {class day}"),
            ("class hours", "{class day} at {class time}"),
            ("places to pay", "={number of spots} * {number of weeks}"),
        ),
    ),
    Function(
        "translate_document",
        "Have a document translated.",
        ("get a document translated", "order a translation", "arrange a translation", "have some pages translated"),
        3,
        (
            arg("source", "source language", LANGUAGE, "language of the original"),
            arg("target", "target language", LANGUAGE, "language to translate into"),
            arg("pages", "number of pages", Integer(1, 150), "page count"),
            arg("deadline", "translation deadline", DATE, "day the translation is due"),
            arg("tone", "tone", one_of("formal|casual|legal|literary|technical|friendly|neutral"), "style of the translation"),
            arg("certified", "certified copy", YES_NO, "certification"),
            arg("format", "file format", one_of("plain text|word file|web page|slides|spreadsheet|e-book"), "kind of file"),
            arg("glossary", "glossary name", TITLE, "term list"),
            arg("reviewer", "reviewer", PERSON, "who proofreads"),
            arg("rate", "rate per page", Decimal(4, 40, 0.5), "price of a page"),
        ),
        (
            ("language pair", "{source language} to {target language}"),
            ("translation cost", "={number of pages} * {rate per page}"),
        ),
    ),
    Function(
        "issue_invoice",
        "Issue an invoice.",
        ("write an invoice", "issue an invoice", "prepare a bill", "invoice a client"),
        3,
        (
            arg("client", "client name", PERSON, "customer on the invoice"),
            arg("hours", "billed hours", Integer(1, 160), "hours to bill"),
            arg("rate", "hourly rate", Integer(20, 180, 5), "price per hour"),
            arg("due", "payment due date", DATE, "day the invoice is due"),
            arg("currency", "currency", one_of("euro|dollar|pound|franc|yen|krona|peso|rupee"), "money unit"),
            arg("tax", "tax percentage", Integer(1, 25), "percent of tax"),
            arg("project", "project name", TITLE, "project on the invoice"),
            arg("discount", "invoice discount percentage", Integer(1, 40), "percent off the invoice"),
            arg("number", "invoice number", CODE, "code of the invoice"),
            arg("reminder", "payment reminder", YES_NO, "reminder for payment"),
        ),
        (
            ("invoice subtotal", "={billed hours} * {hourly rate}"),
            ("invoice summary", "{billed hours} hours for {client name}"),
        ),
    ),
    Function(
        "request_loan",
        "Ask for a loan offer.",
        ("get a loan offer", "request a loan", "apply for credit", "ask the bank for a loan"),
        3,
        (
            arg("amount", "loan amount", Integer(1000, 90000, 500), "sum to borrow"),
            arg("years", "loan term in years", Integer(1, 30), "years of the loan"),
            arg(
                "purpose",
                "loan purpose",
                one_of("car|kitchen|roof repair|studies|boat|wedding|heat pump|workshop|moving|solar panels"),
                "what the loan is for",
            ),
            arg("applicant", "applicant name", PERSON, "borrower"),
            arg("income", "monthly income", Integer(1200, 9500, 100), "income per month"),
            arg("rate", "interest type", one_of("fixed|variable|capped|mixed|tracker"), "kind of interest"),
            arg("start", "loan start month", MONTH, "month the loan starts"),
            arg("deposit", "deposit", Integer(500, 20000, 500), "own money"),
            arg("guarantor", "guarantor name", PERSON, "person who vouches"),
            arg("early", "early repayment", YES_NO, "right to repay early"),
        ),
        (
            ("yearly repayment", "={loan amount} / {loan term in years}"),
            ("loan summary", "{loan amount} for the {loan purpose}"),
        ),
    ),
    Function(
        "print_job",
        "Send a print job.",
        ("print something", "send a print job", "get some copies printed", "have something printed"),
        3,
        (
            arg("document", "document title", TITLE, "thing to print"),
            arg("copies", "number of copies", Integer(1, 300), "copies"),
            arg("paper", "paper size", one_of("A2|A3|A4|A5|letter|legal|tabloid|postcard"), "format of the paper"),
            arg("ink", "ink colour", COLOUR, "colour of the ink"),
            arg(
                "sides",
                "printed sides",
                one_of("single sided|double sided|booklet|two per sheet|four per sheet"),
                "sides to print",
            ),
            arg("binding", "binding", one_of("staple|spiral|glue|thread|ring|clip"), "way to bind"),
            arg("weight", "paper weight in grams", Integer(60, 350, 10), "paper thickness"),
            arg("ready", "print deadline", CLOCK, "time the prints are needed"),
            arg("printer", "printer room", Integer(1, 60), "room with the printer"),
            arg("borderless", "borderless print", YES_NO, "print without borders"),
        ),
        (
            ("print summary", "{number of copies} copies of {document title}"),
            ("print format", "{document title} on {paper size}"),
        ),
    ),
    Function(
        "order_album",
        "Order a printed photo album.",
        ("order a photo album", "make a photo book", "get an album printed", "put our photos in an album"),
        3,
        (
            arg("title", "album title", TITLE, "name of the album"),
            arg("photos", "number of photos", Integer(10, 400), "photo count"),
            arg("cover", "cover material", one_of("linen|leather|card|wood|velvet|cork|canvas"), "what the cover is made of"),
            arg("colour", "cover colour", COLOUR, "colour of the cover"),
            arg("size", "album size", one_of("pocket|small|medium|large|panorama|square"), "format of the album"),
            arg("dedication", "dedication name", FIRST_NAME, "name in the dedication"),
            arg("per_page", "photos per page", Integer(1, 12), "pictures on each page"),
            arg("finish", "page finish", one_of("matt|glossy|silk|pearl|raw|satin"), "finish of the pages"),
            arg("albums", "number of albums", Integer(1, 9), "album copies"),
            arg("gift_box", "gift box", YES_NO, "box for the album"),
        ),
        (
            ("album summary", "{album title} in {cover material}"),
            ("prints in all", "={number of photos} * {number of albums}"),
        ),
    ),
    Function(
        "open_ticket",
        "Open a support ticket.",
        ("open a support ticket", "report a technical problem", "file a ticket", "contact support"),
        3,
        (
            arg("product", "affected product", TITLE, "product with the problem"),
            arg(
                "issue",
                "issue type",
                one_of(
                    "crash|slow start|login failure|data loss|noise|overheating|missing part|wrong colour|billing error|broken screen"
                ),
                "kind of problem",
            ),
            arg("severity", "severity", one_of("trivial|low|normal|high|critical|blocking"), "how bad it is"),
            arg("contact", "contact person", PERSON, "who to contact"),
            arg("version", "product version", Decimal(1, 19.9, 0.1), "version"),
            arg("serial", "serial number", CODE, "serial"),
            arg("callback", "callback time", CLOCK, "time to call back"),
            arg("channel", "contact channel", one_of("phone|email|chat|letter|video call|forum"), "way to reach me"),
            arg("affected", "affected users", Integer(1, 500), "users with the problem"),
            arg("remote", "remote access", YES_NO, "remote session"),
        ),
        (
            ("ticket headline", "{issue type} in {affected product}"),
            ("ticket rank", "{severity} {issue type}"),
        ),
    ),
    Function(
        "scale_recipe",
        "Find a recipe and scale it.",
        ("find a recipe", "plan something to cook", "pick a recipe", "work out what to cook"),
        3,
        (
            arg(
                "dish",
                "recipe type",
                one_of("soup|stew|salad|tart|casserole|curry|pancakes|dumplings|risotto|bread|pie|gratin"),
                "kind of recipe",
            ),
            arg(
                "ingredient",
                "main ingredient",
                one_of(
                    "aubergine|beans|beetroot|carrots|cauliflower|chickpeas|fennel|leeks|lentils|mushrooms|peas|pumpkin|rice|spinach|tofu|turnips"
                ),
                "key ingredient",
            ),
            arg("servings", "number of servings", Integer(1, 24), "servings"),
            arg("minutes", "cooking time limit", Integer(10, 150, 5), "minutes to cook"),
            arg("style", "recipe cuisine", CUISINE, "cooking style"),
            arg("skill", "cooking skill", one_of("novice|easy|medium|hard|chef|anyone"), "skill needed"),
            arg(
                "avoid",
                "ingredient to avoid",
                one_of("nuts|eggs|milk|garlic|onions|celery|wheat|sesame|soy|mustard"),
                "what to leave out",
            ),
            arg("calories", "calories per serving", Integer(150, 950, 25), "calorie limit"),
            arg("oven", "oven use", YES_NO, "use of the oven"),
            arg("author", "recipe author", PERSON, "who wrote the recipe"),
        ),
        (
            ("recipe idea", "{main ingredient} {recipe type}"),
            ("calories in all", "={number of servings} * {calories per serving}"),
        ),
        ("ingredient to avoid",),
    ),
    Function(
        "schedule_watering",
        "Schedule the watering of plants.",
        ("schedule the watering", "look after the plants", "set up plant watering", "program the garden watering"),
        3,
        (
            arg(
                "plant",
                "plant",
                one_of(
                    "basil|begonia|cactus|fern|fig tree|ivy|jasmine|lavender|lemon tree|mint|monstera|olive tree|orchid|palm|rosemary|tomato"
                ),
                "plant to water",
            ),
            arg("litres", "litres of water", Decimal(0.5, 9, 0.5), "amount of water"),
            arg("every", "days between waterings", Integer(1, 21), "watering interval"),
            arg("time", "watering time", CLOCK, "time to water"),
            arg(
                "place",
                "plant location",
                one_of("balcony|kitchen|greenhouse|hallway|roof|porch|office|bathroom"),
                "where the plant stands",
            ),
            arg("fertiliser", "fertiliser", one_of("none|liquid|compost|granules|seaweed|ash"), "plant food"),
            arg("start", "first watering date", DATE, "day of the first watering"),
            arg("helper", "plant sitter", PERSON, "who helps with the plants"),
            arg("mist", "misting", YES_NO, "spray mist"),
            arg("pots", "number of pots", Integer(1, 30), "pots"),
        ),
        (
            ("watering rule", "{plant} every {days between waterings} days"),
            ("water per round", "={litres of water} * {number of pots}"),
        ),
    ),
    Function(
        "book_tour",
        "Book a guided museum tour.",
        ("book a museum tour", "reserve a guided tour", "plan a museum visit", "get tickets for a museum tour"),
        3,
        (
            arg("museum", "museum name", TITLE, "museum to visit"),
            arg("date", "tour date", DATE, "day of the tour"),
            arg("visitors", "number of visitors", Integer(1, 40), "people on the tour"),
            arg("language", "tour language", LANGUAGE, "language of the guide"),
            arg(
                "topic",
                "tour topic",
                one_of("armour|ceramics|coins|fossils|maps|masks|modern art|mummies|photography|sculpture|ships|textiles"),
                "theme of the tour",
            ),
            arg("guide", "guide", PERSON, "name of the guide"),
            arg("time", "tour time", CLOCK, "time the tour starts"),
            arg("minutes", "tour length in minutes", Integer(30, 180, 10), "tour duration"),
            arg("headsets", "number of headsets", Integer(1, 40), "headsets"),
            arg("wheelchair", "wheelchair access", YES_NO, "step-free access"),
            arg("ticket_price", "ticket price", Decimal(4, 30, 0.5), "price of one ticket"),
        ),
        (
            ("tour plan", "{museum name} on {tour date}"),
            ("tour summary", "{number of visitors} visitors to the {museum name}"),
            ("tickets in all", "={number of visitors} * {ticket price}"),
        ),
    ),
    Function(
        "book_lesson",
        "Book language lessons.",
        ("book language lessons", "find a language tutor", "set up language classes", "start learning a language"),
        3,
        (
            arg("language", "language to learn", LANGUAGE, "language I study"),
            arg("level", "learner level", one_of("A1|A2|B1|B2|C1|C2"), "current level"),
            arg("lessons", "number of lessons", Integer(1, 60), "lessons"),
            arg("teacher", "teacher", PERSON, "tutor"),
            arg("day", "lesson day", WEEKDAY, "weekday of the lesson"),
            arg("time", "lesson time", CLOCK, "time of the lesson"),
            arg(
                "focus",
                "lesson focus",
                one_of("grammar|small talk|business|travel|exam practice|pronunciation|writing|listening"),
                "what to practise",
            ),
            arg("group", "group size", Integer(1, 14), "learners in the group"),
            arg("price", "price per lesson", Integer(8, 75), "cost of one lesson"),
            arg("homework", "homework", YES_NO, "tasks at home"),
        ),
        (
            ("course", "{language to learn} at level {learner level}"),
            ("course price", "={number of lessons} * {price per lesson}"),
        ),
    ),
    Function(
        "buy_cinema_tickets",
        "Buy cinema tickets.",
        ("get cinema tickets", "book seats for a film", "buy tickets for a movie", "plan a cinema evening"),
        3,
        (
            arg("film", "film title", TITLE, "name of the film"),
            arg("day", "screening day", WEEKDAY, "weekday of the film"),
            arg("seats", "number of seats", Integer(1, 12), "seats"),
            arg("time", "screening time", CLOCK, "time the film starts"),
            arg("row", "seat row", one_of("A|B|C|D|E|F|G|H|J|K|L|M"), "row"),
            arg("subtitles", "subtitle language", LANGUAGE, "subtitles"),
            arg("format", "screen format", one_of("2D|3D|large screen|drive-in|open air|70 mm"), "kind of screening"),
            arg("snack", "snack", one_of("popcorn|nachos|pretzel|ice cream|nuts|fruit cup|crisps"), "thing to nibble"),
            arg("price", "price per seat", Decimal(5, 22, 0.5), "cost of one seat"),
            arg("voucher", "voucher code", CODE, "voucher"),
        ),
        (
            ("cinema plan", "{film title} on {screening day}"),
            ("ticket total", "={number of seats} * {price per seat}"),
        ),
        ("snack",),
    ),
    Function(
        "book_vet",
        "Book a visit to the vet.",
        ("book a vet visit", "see the vet", "make a vet appointment", "get my pet checked"),
        3,
        (
            arg("pet", "pet name", FIRST_NAME, "name of the animal"),
            arg(
                "species",
                "animal",
                one_of("cat|dog|rabbit|parrot|hamster|tortoise|ferret|guinea pig|goat|canary|snake"),
                "kind of pet",
            ),
            arg(
                "reason",
                "visit reason",
                one_of("vaccination|check-up|limping|dental care|skin rash|surgery|weight loss|cough|claw trim|ear infection"),
                "why the pet is seen",
            ),
            arg("date", "vet date", DATE, "day at the vet"),
            arg("time", "vet time", CLOCK, "time at the vet"),
            arg("vet", "vet name", SURNAME, "doctor"),
            arg("age", "pet age", Integer(1, 25), "age of the animal"),
            arg("weight", "pet weight in kilos", Decimal(0.5, 45, 0.5), "weight of the animal"),
            arg("chip", "chip number", CODE, "chip"),
            arg("home_visit", "home visit", YES_NO, "visit at home"),
        ),
        (
            ("vet summary", "{visit reason} for {pet name}"),
            ("patient", "{pet name} the {animal}"),
        ),
    ),
    Function(
        "hire_cleaner",
        "Order a cleaning service.",
        ("hire a cleaner", "order a cleaning service", "get the flat cleaned", "arrange some cleaning"),
        3,
        (
            arg("address", "cleaning address", STREET, "place to clean"),
            arg("day", "cleaning day", WEEKDAY, "weekday of the cleaning"),
            arg("hours", "cleaning hours", Integer(1, 12), "hours of cleaning"),
            arg("cleaners", "number of cleaners", Integer(1, 6), "cleaners"),
            arg("area", "floor area", Integer(20, 400, 5), "square metres"),
            arg("product", "cleaning product", one_of("unscented|citrus|vinegar|soap|pine|lavender"), "what to clean with"),
            arg("windows", "number of windows", Integer(1, 40), "windows"),
            arg("key", "key location", one_of("neighbour|doormat|key box|reception|cafe|garage"), "where the key is"),
            arg(
                "rhythm",
                "cleaning rhythm",
                one_of("once|weekly|every two weeks|monthly|twice a week|daily"),
                "how often to clean",
            ),
            arg("ironing", "ironing", YES_NO, "ironing of clothes"),
        ),
        (
            ("cleaning slot", "{cleaning address} on {cleaning day}"),
            ("work hours", "={cleaning hours} * {number of cleaners}"),
        ),
    ),
    Function(
        "order_flowers",
        "Order a bouquet.",
        ("order flowers", "send a bouquet", "get some flowers delivered", "have flowers sent"),
        3,
        (
            arg(
                "flower",
                "flower",
                one_of(
                    "anemones|carnations|dahlias|daisies|freesias|gerberas|hydrangeas|irises|lilies|peonies|poppies|roses|sunflowers|tulips"
                ),
                "kind of flower",
            ),
            arg("stems", "number of stems", Integer(3, 75), "stems"),
            arg("to", "flower recipient", PERSON, "who gets the flowers"),
            arg("colour", "flower colour", COLOUR, "colour of the flowers"),
            arg("date", "flower delivery date", DATE, "day the flowers arrive"),
            arg(
                "card",
                "card text",
                one_of("get well soon|happy birthday|thank you|with love|good luck|congratulations|welcome home"),
                "words on the card",
            ),
            arg("vase", "vase", one_of("none|glass|ceramic|tin|bamboo|clay"), "kind of vase"),
            arg("wrap", "wrapping", one_of("paper|cloth|ribbon|net|box|none"), "how to wrap it"),
            arg("budget", "flower budget", Integer(15, 150, 5), "money for the flowers"),
            arg("chocolate", "chocolate", YES_NO, "chocolate with it"),
        ),
        (
            ("bouquet", "{number of stems} {flower}"),
            ("flower plan", "{flower} for {flower recipient}"),
        ),
    ),
    Function(
        "book_train",
        "Book train tickets.",
        ("book a train", "get train tickets", "plan a train journey", "reserve seats on a train"),
        3,
        (
            arg("origin", "departure station", CITY, "station I leave from"),
            arg("destination", "arrival station", CITY, "station I travel to"),
            arg("date", "travel date", DATE, "day of the train"),
            arg("time", "train time", CLOCK, "time the train leaves"),
            arg("travellers", "number of travellers", Integer(1, 9), "people on the train"),
            arg(
                "coach", "coach", one_of("quiet|family|first class|second class|sleeper|restaurant|bicycle"), "part of the train"
            ),
            arg("card", "railcard", one_of("none|youth|senior|family|regional|annual"), "discount card"),
            arg("bikes", "number of bicycles", Integer(1, 6), "bicycles"),
            arg("changes", "maximum number of changes", Integer(1, 5), "limit on changes"),
            arg("refundable", "refundable ticket", YES_NO, "refund option"),
        ),
        (
            ("train route", "{departure station} to {arrival station}"),
            ("train plan", "{arrival station} on {travel date}"),
        ),
        ("coach",),
    ),
    Function(
        "borrow_book",
        "Reserve a book at the library.",
        ("borrow a book", "reserve a book at the library", "get a book from the library", "order a library book"),
        3,
        (
            arg("title", "book title", TITLE, "name of the book"),
            arg("author", "author", PERSON, "writer"),
            arg("branch", "library branch", CITY, "library"),
            arg("pickup", "book pickup date", DATE, "day I collect the book"),
            arg("weeks", "loan weeks", Integer(1, 12), "weeks to keep the book"),
            arg("edition", "edition", one_of("hardback|paperback|large print|audio|annotated|illustrated|first"), "kind of copy"),
            arg("language", "book language", LANGUAGE, "language of the book"),
            arg("card", "library card", CODE, "card number"),
            arg("shelf", "shelf number", Integer(1, 250), "shelf"),
            arg("renew", "automatic renewal", YES_NO, "renewal"),
        ),
        (
            ("book summary", "{book title} by {author}"),
            ("pickup place", "{book title} at {library branch}"),
        ),
    ),
)
