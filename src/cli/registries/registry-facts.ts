import { readTokens } from '../../config/tokens.ts'
import type { TokenTable } from '../../domain/price/token.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { isJsonObject, type JsonObject, listAt, textAt } from '../../json/value.ts'
import { type FacetsJson, facetsSchema, type PriceRangeJson } from '../../wire/facets.ts'
import type { KnownMoney } from '../writes/payment-problems.ts'
import { fetchListingCheck, type ListingCheck } from './listing-check.ts'
import { getEndpoint, type RegistryClient, readJsonObject } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

/** What a Registry says of itself, by which listings are checked before they are sent to it. */
export type RegistryFacts = KnownMoney & {
  url: string
  /** `null` where it has no listing shape: it decides when it gets the listing. */
  shape: ListingCheck | null
  /** By model, per GPU. */
  prices: ReadonlyMap<string, readonly PriceRangeJson[]>
}

/** Of each Registry; of those of `asIs` nothing is asked. @param tokens where a Registry has no `GET /tokens` */
export const factsOf = (
  client: RegistryClient,
  registries: readonly Registry[],
  tokens: TokenTable,
  timeoutMs: number,
  { asIs }: { asIs?: boolean } = {},
): Promise<RegistryFacts[]> =>
  Promise.all(
    registries.map(async (registry) => {
      const nothing = { url: registry.url, shape: null, tokens, chains: null, prices: new Map() }
      return asIs ? nothing : { ...nothing, ...(await fetchFacts(client, registry, timeoutMs)) }
    }),
  )

/** What the Registry says; never rejects for one that does not answer. */
async function fetchFacts(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<Partial<RegistryFacts>> {
  const ask = (path: string): Promise<JsonObject> =>
    getEndpoint(client, registry, path, timeoutMs).then(
      (answer) => (answer.status === 200 ? readJsonObject(answer) : {}),
      (cause) => unanswered(cause, {}),
    )
  const [shape, listed, counted] = await Promise.all([
    fetchListingCheck(client, registry, timeoutMs).catch((cause) => unanswered(cause, null)),
    ask('/tokens'),
    ask('/facets?by=gpu&prices_by=gpu'),
  ])
  if (!Array.isArray(listed.tokens)) return { shape }
  const tokens = readTokens(listAt(listed, 'tokens').filter(isJsonObject).map(entryOf), [])
  const { data } = facetsSchema.safeParse(counted)
  return { shape, tokens, chains: chainsIn(data), prices: pricesIn(data) }
}

function unanswered<Nothing>(cause: unknown, nothing: Nothing): Nothing {
  if (cause instanceof SourceError) return nothing
  throw cause
}

/** Settlement options have a mechanism and an asset there, under the same names. */
function entryOf(token: JsonObject) {
  const isAddress = textAt(token, 'address')?.startsWith('0x') === true
  return {
    path: '',
    ...token,
    ...(!isAddress && { mechanism: token.chain, asset: token.address, ...NEITHER }),
  }
}

const NEITHER = { chain: undefined, address: undefined }

const chainsIn = (facets: FacetsJson | undefined): ReadonlySet<string> =>
  new Set(facets?.prices.flatMap(({ chains }) => chains.map(({ chain }) => chain)))

const pricesIn = (facets: FacetsJson | undefined): RegistryFacts['prices'] =>
  new Map(facets?.facets.gpu?.values.map(({ value, prices = [] }) => [value, prices]))
