"""The words of the shop: what products are called, and which fields their wishes fill, by group of products.

Every value stands as it is said, so that a wish can be read out of a text and looked for in a record in the same words.
"""

# fmt: off
PRODUCTS: dict[str, tuple[str, ...]] = {
    "apparel": (
        "t-shirt", "t-shirts", "shirt", "polo", "dress", "jeans", "pants", "shorts", "hoodie", "sweater", "jacket", "coat",
        "blouse", "leggings", "shoes", "sneakers", "boots", "sandals", "slippers", "heels", "loafers", "bra", "skirt",
        "sweatshirt", "cardigan", "socks", "underwear", "swimsuit", "bikini", "tank top", "jumpsuit", "vest", "pajamas",
    ),
    "home": (
        "sofa", "couch", "ottoman", "bookcase", "bookshelf", "desk", "table", "coffee table", "chair", "office chair",
        "dining chairs", "bar stool", "bar stools", "bed frame", "bed", "mattress", "headboard", "nightstand", "dresser",
        "rug", "area rug", "curtains", "curtain panels", "roller shades", "blinds", "table lamp", "floor lamp", "lamp",
        "chandelier", "pendant light", "vanity light", "wall sconce", "mirror", "throw blanket", "throw pillow",
        "pillow covers", "pillowcases", "storage basket", "laundry basket", "tv stand", "cabinet", "wall art", "candle",
        "window film", "sideboard", "bench", "recliner", "sectional",
    ),
    "food": (
        "cookies", "crackers", "snacks", "snack bars", "protein bars", "candy", "chips", "popcorn", "nuts", "almonds",
        "granola", "cereal", "tea", "green tea", "coffee", "drink mix", "protein shake", "syrup", "seasoning", "salsa",
        "sauce", "dried fruit", "jerky", "pasta", "noodles", "cake mix", "pancake mix", "gummies", "jelly beans", "mints",
        "trail mix", "peanut butter", "almond butter", "salad dressing", "soup", "cheese", "cupcakes", "brownies",
    ),
    "beauty": (
        "shampoo", "conditioner", "hair mask", "hair oil", "hair treatment", "hair spray", "hair dye", "body wash", "lotion",
        "body lotion", "moisturizer", "face cream", "eye cream", "serum", "sunscreen", "soap", "deodorant", "toothpaste",
        "mouthwash", "lipstick", "lip gloss", "lip balm", "mascara", "foundation", "concealer", "eyeshadow", "perfume",
        "fragrance", "nail polish", "face mask", "cleanser", "body scrub", "eyeliner", "argan oil",
    ),
    "electronics": (
        "headphones", "earbuds", "speaker", "speakers", "soundbar", "microphone", "camera", "security camera", "tablet",
        "laptop", "desktop computer", "desktop", "keyboard", "monitor", "projector", "charger", "power bank", "phone case",
        "screen protector", "smartwatch band", "smartwatch bands", "watch band", "hdmi cable", "coaxial cable", "cable",
        "adapter", "remote control", "tripod", "car stereo", "antenna", "subwoofer", "tv", "radio", "hard drive", "router",
    ),
}
COLORS = (
    "black", "white", "blue", "navy", "navy blue", "pink", "red", "green", "grey", "gray", "purple", "yellow", "orange",
    "brown", "beige", "gold", "rose gold", "silver", "teal", "burgundy", "dark blue", "light blue", "dark green", "ivory",
    "cream", "multicolor", "turquoise", "espresso", "walnut", "light brown", "dark brown", "charcoal", "khaki", "bronze",
)
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "apparel": {
        "color": COLORS,
        "size": ("x-small", "small", "medium", "large", "x-large", "xx-large", "3x-large", "4x-large"),
        "material": ("cotton", "polyester", "leather", "faux leather", "fleece", "wool", "denim", "spandex", "nylon", "suede"),
        "care": ("machine washable", "machine wash", "hand wash", "wash cold"),
        "fit": ("slim fit", "regular fit", "relaxed fit", "loose fit", "classic fit"),
        "sleeve": ("long sleeve", "short sleeve", "sleeveless"),
        "closure": ("elastic waist", "drawstring closure", "button closure", "zipper closure", "lace closure"),
        "sole": ("rubber sole", "ethylene vinyl", "non slip", "memory foam"),
        "cut": ("high waist", "wide leg", "straight leg", "open toe", "steel toe", "closed toe", "arch support"),
    },
    "home": {
        "color": COLORS,
        "size": ("twin size", "full size", "queen size", "king size", "5 ft", "8 ft", "24 inch", "36 inch"),
        "material": (
            "solid wood", "faux leather", "stainless steel", "velvet", "memory foam", "glass", "tempered glass", "metal",
            "linen", "polyester", "cotton", "bamboo", "brushed nickel",
        ),
        "setup": ("easy to assemble", "easy to install", "fully assembled", "ready to hang"),
        "style": ("mid century", "contemporary", "modern", "rustic", "industrial", "farmhouse", "vintage"),
        "room": ("living room", "dining room", "bedroom", "office", "bathroom", "kitchen", "entryway"),
        "care": ("easy to clean", "machine washable", "spot clean"),
        "make": ("heavy duty", "space saving", "eco friendly", "water proof", "non slip", "lumbar support", "storage space"),
    },
    "food": {
        "flavor": (
            "chocolate", "dark chocolate", "vanilla", "strawberry", "coconut", "cinnamon", "peanut butter", "blueberry", "lemon",
            "caramel", "mint", "mango", "original", "salted caramel", "cheddar", "garlic", "apple",
        ),
        "diet": (
            "gluten free", "sugar free", "dairy free", "fat free", "nut free", "soy free", "grain free", "keto friendly",
            "plant based", "low carb", "low sodium", "low sugar", "high protein", "non gmo", "certified organic", "lactose free",
        ),
        "pack": ("pack of 1", "pack of 2", "pack of 3", "pack of 4", "pack of 6", "pack of 8", "pack of 12"),
        "ingredients": (
            "natural ingredients", "simple ingredients", "quality ingredients", "no artificial flavors", "real fruit",
        ),
        "wrapping": ("individually wrapped", "ready to eat", "resealable bag", "gift basket"),
    },
    "beauty": {
        "color": COLORS,
        "formula": (
            "paraben free", "sulfate free", "fragrance free", "alcohol free", "cruelty free", "oil free", "fluoride free",
            "silicone free", "dermatologist tested",
        ),
        "made for": (
            "sensitive skin", "dry skin", "oily skin", "damaged hair", "dry hair", "sensitive teeth", "hair growth",
            "dark circles", "fine lines",
        ),
        "ingredients": ("natural ingredients", "tea tree", "coconut oil", "hyaluronic acid", "vitamin c", "aloe vera"),
        "scent": ("lavender", "vanilla", "rose", "citrus", "eucalyptus", "unscented", "mint"),
        "wear": ("long lasting", "easy to use", "travel size", "easy to apply", "water resistant"),
        "pack": ("pack of 1", "pack of 2", "pack of 3", "pack of 4", "pack of 6"),
    },
    "electronics": {
        "color": COLORS,
        "connection": ("wireless", "bluetooth", "wireless bluetooth", "usb", "usb port", "wi-fi"),
        "charging": ("fast charging", "wireless charging", "batteries included", "solar powered"),
        "sound": ("noise cancelling", "stereo sound", "hands free", "surround sound"),
        "picture": ("1080p", "high definition", "ultra hd", "high resolution", "optical zoom", "4k"),
        "speed": ("high speed", "quad core", "high performance", "high power", "dual band"),
        "make": (
            "heavy duty", "gold plated", "tempered glass", "water resistant", "light weight", "aluminum alloy", "carrying case",
        ),
        "setup": ("easy to install", "easy to use", "plug in", "easy to carry"),
        "size": ("6 ft", "10 ft", "25 ft", "small", "large", "32 inch"),
    },
}
# fmt: on
# The fields whose value is chosen among a product's variants; every other one is a fact about the product.
OPTIONS = ("color", "size", "flavor", "scent", "pack")
# The fields of which a product may have several values at once.
SEVERAL = ("diet", "formula", "ingredients", "make")
