import { isListingStatus, type ListingStatus, unknownStatus } from '../domain/listing.ts'
import { type PriceTexts, parsePriceQuestion } from '../domain/price/price-parameters.ts'
import type { TokenTable } from '../domain/price/token.ts'
import { EntrepotError } from '../errors.ts'
import { quote } from '../filter-spec/literals.ts'
import { publisherNamed } from '../signing/principal.ts'
import { comparesPrices } from '../vocabulary/names.ts'
import type { MarketQuery } from './market-query.ts'

/** As in the query string of `GET /listings`. Empty texts count as absent, but for `status`: every status. */
export type QuestionTexts = PriceTexts & { status?: string | undefined; publisher?: string | undefined }

/** Where a question is asked. */
type Door = Pick<MarketQuery, 'filters'> & {
  sources?: MarketQuery['sources'] | undefined
  tokens: TokenTable
  /** What readers call a parameter, for messages. */
  nameOf?: (parameter: keyof QuestionTexts) => string
  /** Whether `price_per` has a meaning of its own, without an order or a ceiling. */
  countsPrices?: boolean
  /**
   * Whether a question that compares prices is answered cheapest first, where it names no order; an order by price that
   * names no token is then one of the first known token, on every chain.
   */
  prefersCheapest?: boolean
  /** Whether a text that names no publisher is one without listings, as in the protocol. */
  takesAnyPublisher?: boolean
}

/** What a reader asks, over HTTP, over MCP and on the command line. @throws EntrepotError `bad_request` */
export function readQuestion(
  texts: QuestionTexts,
  { filters, sources = null, tokens, nameOf = (parameter) => parameter, ...door }: Door,
): MarketQuery {
  const { countsPrices = false, prefersCheapest = false, takesAnyPublisher = false } = door
  const isByPrice = prefersCheapest && comparesPrices([...filters, ['price_max', texts.price_max ?? '']])
  const sort = texts.sort ?? (isByPrice ? 'price' : undefined)
  const usual = prefersCheapest && sort === 'price' ? tokens.usual : undefined
  const price_token = texts.price_token || usual
  const prices = parsePriceQuestion(tokens, { ...texts, sort, price_token }, { nameOf, countsPrices })
  const status = readStatus(texts.status ?? 'open')
  const text = texts.publisher?.replace(/^0X/, '0x') || null
  const publisher =
    text === null ? null : (publisherNamed(text) ?? (takesAnyPublisher ? text.toLowerCase() : null))
  if (text !== null && publisher === null)
    throw new EntrepotError(
      'bad_request',
      `${nameOf('publisher')} must be an address, 0x and 40 hex digits, or ed25519: and a public key, not ${quote(text)}`,
    )
  return { prices, status, publisher, filters, sources }
}

function readStatus(text: string): ListingStatus | null {
  if (text === '') return null
  if (isListingStatus(text)) return text
  throw unknownStatus(text)
}
