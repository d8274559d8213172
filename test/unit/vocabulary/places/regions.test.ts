import test from 'ava'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { readPlace } from '../../../../src/vocabulary/places/read-place.ts'
import { regions } from '../market/market.ts'

const table = shippedVocabulary().tables.places

/** `FI EU`, `- EU` for a continent only, `-` for a place that is unknown. */
function read(text: string): string {
  const { country, continent } = readPlace(table, 'seller', text)
  return continent === null ? (country ?? '-') : `${country ?? '-'} ${continent}`
}

test('regions: all 150 of seven sellers read as what they mean', (t) => {
  t.is(regions().length, 150)
  for (const { text, country, continent } of regions())
    t.deepEqual(readPlace(table, 'seller', text), { country, continent }, text)
})

/** Texts of each place, between bars, by the rule that reads them. */
const RULES: Readonly<Record<string, Readonly<Record<string, string[]>>>> = {
  'a code behind a comma is a country, before a continent as well': {
    'IS EU': ['Reykjavik, IS'],
    'FR EU': ['Lyon,FR'],
    'GB EU': ['London, UK'],
    'US NA': ['Michigan, US, NA | , US, NA | Dallas, TX, US | Miami, FL, NA | Honolulu, US, OC'],
    'AE AS': ['Dubai, AE, ME'],
    'SG AS': ['Singapore, SG, SEA'],
    'DE EU': ['Bavaria, DE, EU'],
    'TR AS': ['Istanbul, TR, EU'],
    'RU EU': ['Vladivostok, RU, AS'],
    '-': ['Tokyo, JP, EU | Frankfurt, de | Kingston, ON | Jordan, ON'],
  },
  'a code that is a country and a continent says nothing at the end': {
    '-': ['Windhoek, NA | Riyadh, SA | Dubai, ME | Germany, AS | Tokyo, AP | Asia, EU'],
    'US NA': ['Texas, NA'],
    'NA AF': ['Namibia, NA'],
    '- EU': ['Frankfurt, EU'],
    '- OC': ['Sydney, OC'],
  },
  'a code that is a country and a US state is what the city before it is': {
    'CA NA': ['Toronto, CA | Toronto 2, ON, CA | Quebec, CA, NA | Canada, CA'],
    'US NA': [
      'Los Angeles, CA | Santa Clara, CA | Los Angeles, CA, NA | Wilmington, DE | Indianapolis, IN',
      'Ashburn, VA | Portland, ME | California, CA | US, CA',
    ],
    'DE EU': ['Frankfurt am Main, DE | Europe, DE'],
    'IN AS': ['Bengaluru, IN'],
    'ME EU': ['Podgorica, ME'],
    '-': ['Ontario, CA | Richmond, CA | Nowhere, DE | Lebanon, PA | North America, CA'],
  },
  'a US state wins over a country before it, and a city of another country over the state': {
    'US NA': [
      'Lebanon, OH | Lebanon, Ohio | New Jersey | New Mexico | newjersey-usa-1 | Jersey City, NJ',
      'West Jordan | Vancouver, WA',
    ],
    '-': ['Perth, WA | Milano, MI | Turin, TO | Regina, SK | Salvador, BA | Curitiba, PR | Indiana, Germany'],
    'PR NA': ['San Juan, PR'],
    'BA EU': ['Sarajevo, BA'],
    'PK AS': ['Hyderabad, PK'],
  },
  'Georgia alone is unknown': {
    '-': ['Georgia | georgia-1 | Georgia, Armenia'],
    'US NA': ['Georgia, USA | Georgia, US, NA | Atlanta, Georgia'],
    'GE AS': ['Tbilisi, Georgia'],
  },
  'codes between hyphens: a region, then the country; else the country first': {
    'CA NA': ['CA | CA-MTL-2'],
    'DE EU': ['DE | DE-BW-1'],
    'GB EU': ['UK'],
    'US NA': ['US-CA-1'],
    'FI EU': ['FI-HEL1 | EU-FIN-1 | EU-Finland-1'],
    'RO EU': ['EU-RO-1'],
    'IS EU': ['EUR-IS-1'],
    'JP AS': ['AP-JP-1'],
    'SG AS': ['SEA-SG-1'],
    'BR SA': ['SA-BR-1'],
    'PL EU': ['Europe-PL'],
    'SE EU': ['EU_SE_2'],
    '- EU': ['EU | EU-1 | EU-FRA-1 | EU-Frankfurt'],
    '-': ['AP-1 | EU-JP-1 | AP-SE-1 | NA | SA-1 | SEA-1 | CA-US-1 | TX-1'],
  },
  'codes of two letters count in upper case only, and beside other codes': {
    '-': [
      'in-house | IN-HOUSE | no-preference | NO-PREFERENCE | my-dc-1 | to-be-defined | TO-BE-DEFINED',
      'contact us | no south side | in, house | us | fr-par-1',
    ],
  },
  'names and short forms of countries count as words, the longest first': {
    'FR EU': ['paris-france-5'],
    'CA NA': ['CANADA-1'],
    'US NA': ['dallas-usa-3 | U.S.'],
    'AE AS': ['dubai-uae-1'],
    'FI EU': ['Finland 3'],
    'JP AS': ['Tokyo, Japan'],
    'GB EU': ['Northern Ireland'],
    'AU OC': ['New South Wales'],
    'PG OC': ['Papua New Guinea'],
    'HK AS': ['Hong Kong, China'],
    'TW AS': ['Taiwan, Province of China'],
    'KP AS': ["Korea, Democratic People's Republic of"],
    'VI NA': ['Virgin Islands, U.S.'],
    'BA EU': ['Bosnia & Herzegovina'],
    'CI AF': ["Côte d'Ivoire"],
    'NZ OC': ['auckland-newzealand-1'],
    'TR AS': ['Türkiye | turkey'],
    'NL EU': ['Holland'],
    'CZ EU': ['Czechia | CZECH REPUBLIC'],
    'KR AS': ['South Korea'],
    'LB AS': ['Lebanon'],
    'JO AS': ['Jordan'],
    'TD AF': ['Chad'],
    '-': ['New England | Congo | Germany/France | Japan, Europe | Indochina 1'],
  },
  'an alpha-3 code counts with a number behind a separator, unless it is an airport': {
    'FI EU': ['FIN-02'],
    'DE EU': ['DEU 1'],
    'US NA': ['USA-1'],
    '-': ['FIN | FIN02 | fin-02 | FRA | PER1 | AUS1 | FRA-1 | AUS-1 | IND-1'],
  },
  'a code with a point of the compass is a cloud region, of a country or a continent': {
    'US NA': ['us-midwest-1 | us-central1 | us-east-1a | US-EAST-1 | US East'],
    'CA NA': ['canada-east-1'],
    'AU OC': ['australia-east-1'],
    'IN AS': ['in-west-1'],
    '- EU': ['eu-west1 | europe-central-1'],
    '- AS': ['asia-northeast-2 | me-west-1'],
    '- SA': ['sa-east-1'],
    '- AF': ['af-south-1'],
    '-': ['ap-southeast-2 | ap-northeast-1 | CA West | go east young man'],
  },
  'words of continents are a continent, where no other is named': {
    '- EU': ['Europe | Europe (Frankfurt)'],
    '- NA': ['North America'],
    '- AS': ['Middle East'],
    '-': ['Asia Pacific (Sydney) | Latin America | Europe/Asia | EMEA'],
  },
  'of sellers and clouds whose regions are in no file here, those that are read are right': {
    'DE EU': ['Frankfurt am Main, Germany | Falkenstein, DE | germanywestcentral'],
    'BR SA': ['São Paulo, Brazil'],
    'US NA': [
      'Santa Clara, CA | Kansas City, MO | US East (N. Virginia) | West US 2 | us-gov-west-1 | us-texas-1',
      'us-east-va-1 | eastus2',
    ],
    'IN AS': ['Navi Mumbai, IN'],
    'IS EU': ['Hafnarfjörður, Iceland | eu-iceland1-a'],
    'CA NA': ['Canada (Central) | ca-central-1'],
    'ZA AF': ['South Africa North | southafricanorth'],
    'AE AS': ['Middle East (UAE)'],
    'IL AS': ['il-central-1'],
    'MX NA': ['mx-central-1'],
    'GB EU': ['uk-london-1 | uksouth'],
    '- EU': ['eu-central-1 | eu-west-par | europe-west4 | westeurope'],
    '- NA': ['northamerica-northeast1'],
    '- SA': ['southamerica-west1'],
    'AU OC': ['australia-southeast1'],
    '- AF': ['africa-south1'],
    'NO EU': ['norwayeast'],
    'KR AS': ['koreacentral'],
    '- AS': ['southeastasia'],
    '-': [
      'ap-southeast-1 | us-ashburn-1 | eu-frankfurt-1 | fr-par-1 | us-ord | nyc3 | fsn1 | GRA11 | FRA-10',
      'Equinix SV5 | Zürich | Silicon Valley | usgovvirginia',
    ],
  },
}

for (const [rule, places] of Object.entries(RULES))
  test(`regions: ${rule}`, (t) => {
    for (const [place, lines] of Object.entries(places))
      for (const text of lines.flatMap((line) => line.split(' | '))) t.is(read(text), place, text)
  })
