"""Regressions of ``outside.py``, by the rule that ``outside_sets.py`` states."""

from __future__ import annotations

from bank_sets import codes, words
from outside_sets import Table, flags, scales, texts

STATES = words(
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ "
    "NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
)

REGRESSION = {
    "movies": Table(
        "ggplot2movies/movies",
        "regression",
        "rating",
        (1.0, 10.0),
        {"year": (1890, 2010), "length": (0, 300), "votes": (0, 200_000)}
        | flags("Action Animation Comedy Drama Documentary Romance Short"),
    ),
    "parties": Table(
        "stevedata/anes_partytherms",
        "regression",
        "mpti",
        (0.0, 100.0),
        {"year": (1978, 2012), "age": (18, 100), "incomeperc": (1, 5)}
        | scales("educat pid7", 1, 7)
        | scales("polint distrust_govt", 1, 4)
        | scales("govt_crooked govt_waste", 1, 3)
        | flags("unemployed govt_biginterests"),
        {"urbanism": codes(1, 3), "race4": codes(1, 4), "stateabb": STATES},
    ),
    "mothers": Table(
        "wooldridge/labsup",
        "regression",
        "hours",
        (0.0, 100.0),
        {"kids": (0, 12), "age": (18, 50), "agefstm": (10, 40), "nonmomi": (0, 200)}
        | {"educ": (0, 20)}
        | flags("boy1st boy2nd multi2nd black hispan"),
    ),
    "loans": Table(
        "openintro/loans_full_schema",
        "regression",
        "interest_rate",
        (0.0, 36.0),
        {
            "emp_length": (0, 10),
            "annual_income": (0, 300_000),
            "debt_to_income": (0, 100),
            "delinq_2y": (0, 20),
            "earliest_credit_line": (1960, 2018),
            "total_credit_lines": (0, 100),
            "total_credit_limit": (0, 1_000_000),
            "total_credit_utilized": (0, 300_000),
            "num_collections_last_12m": (0, 5),
            "total_collection_amount_ever": (0, 10_000),
            "months_since_last_credit_inquiry": (0, 24),
            "num_active_debit_accounts": (0, 30),
            "total_debit_limit": (0, 200_000),
            "num_total_cc_accounts": (0, 60),
            "num_mort_accounts": (0, 20),
            "account_never_delinq_percent": (0, 100),
            "public_record_bankrupt": (0, 5),
            "loan_amount": (0, 40_000),
            "term": (36, 60),
        }
        | scales("inquiries_last_12m accounts_opened_24m", 0, 30)
        | scales("num_historical_failed_to_pay tax_liens", 0, 10)
        | scales("open_credit_lines current_installment_accounts num_satisfactory_accounts", 0, 50)
        | scales("num_open_cc_accounts num_cc_carrying_balance", 0, 50),
        {
            "homeownership": words("MORTGAGE RENT OWN"),
            "verified_income": texts("Not Verified,Source Verified,Verified"),
            "application_type": words("individual joint"),
            "loan_purpose": words(
                "debt_consolidation credit_card other home_improvement major_purchase medical "
                "house car small_business moving vacation renewable_energy"
            ),
            "state": STATES,
        },
    ),
    "hotel": Table(
        "modeldata/hotel_rates",
        "regression",
        "avg_price_per_room",
        (0.0, 400.0),
        {
            "lead_time": (0, 730),
            "stays_in_weekend_nights": (0, 20),
            "stays_in_week_nights": (0, 50),
            "babies": (0, 5),
            "previous_bookings_not_canceled": (0, 50),
            "days_in_waiting_list": (0, 365),
            "arrival_date_num": (2016, 2018),
            "historical_adr": (0, 400),
        }
        | scales("adults children", 0, 10)
        | scales("previous_cancellations booking_changes", 0, 20)
        | scales("required_car_parking_spaces total_of_special_requests", 0, 5)
        | flags("is_repeated_guest near_christmas near_new_years"),
        {
            "meal": words(
                "no_meal_package bed_and_breakfast breakfast_and_one_other_meal "
                "breakfast_lunch_and_dinner"
            ),
            "country": words("prt gbr esp irl fra deu nld bra ita usa"),
            "market_segment": words(
                "online_travel_agent direct offline_travel_agent groups corporate"
            ),
            "distribution_channel": words("ta_to direct corporate"),
            "reserved_room_type": tuple("abcdefgh"),
            "assigned_room_type": tuple("abcdefghi"),
            "customer_type": words("transient transient_party contract group"),
        },
    ),
    "pharmacies": Table(
        "Ecdat/VietNamI",
        "regression",
        "pharvis",
        (0.0, 30.0),
        {"lnhhexp": (0, 10), "age": (0, 100), "educ": (0, 12), "illness": (0, 10)}
        | scales("illdays actdays", 0, 30)
        | flags("married injury insurance"),
        {"sex": words("female male")},
    ),
    "deliveries": Table(
        "modeldata/deliveries",
        "regression",
        "time_to_delivery",
        (0.0, 60.0),
        {"hour": (0, 24), "distance": (0, 10)} | {f"item_{k:02}": (0, 5) for k in range(1, 28)},
        {"day": words("Mon Tue Wed Thu Fri Sat Sun")},
    ),
    "wives": Table(
        "Ecdat/HI",
        "regression",
        "whrswk",
        (0.0, 100.0),
        {"experience": (0, 60), "husby": (0, 200)} | scales("kidslt6 kids618", 0, 10),
        dict.fromkeys(("hhi", "whi", "hhi2", "hispanic"), ("no", "yes"))
        | {
            "education": words("<9years 9-11years 12years 13-15years 16years >16years"),
            "race": words("white black other"),
            "region": words("other northcentral south west"),
        },
    ),
    "injuries": Table(
        "wooldridge/injury",
        "regression",
        "ldurat",
        (-2.0, 6.0),
        {"age": (0, 100), "lprewage": (0, 8), "ltotmed": (0, 12), "benefit": (0, 500)}
        | flags("afchnge highearn male married hosp ky"),
        {"indust": codes(1, 3), "injtype": codes(1, 8)},
    ),
    "values": Table(
        "stevedata/wvs_usa_abortion",
        "regression",
        "aj",
        (1.0, 10.0),
        {"year": (1982, 2011), "age": (18, 100), "cai": (-2, 2)}
        | scales("ideology satisfinancial godimportant", 1, 10)
        | scales("postma4 respectauthority", -1, 1)
        | flags("collegeed female unemployed trustmostpeople nationalpride"),
    ),
    "earnings": Table(
        "DAAG/cps1",
        "regression",
        "re78",
        (0.0, 30_000.0),
        {"age": (16, 65), "educ": (0, 20)}
        | scales("re74 re75", 0, 30_000)
        | flags("black hisp marr nodeg"),
    ),
    "schools": Table(
        "wooldridge/catholic",
        "regression",
        "math12",
        (20.0, 80.0),
        {"lfaminc": (4, 14)}
        | scales("motheduc fatheduc", 0, 20)
        | flags("female asian hispan black cathhs parcath"),
    ),
}
