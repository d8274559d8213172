import { randomBytes } from 'node:crypto'
import { shippedVocabulary } from '../../config/vocabulary.ts'
import { systemClock } from '../../domain/clock.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { SEES_ALL } from '../../domain/reader.ts'
import type { Holding } from '../../domain/source/holding.ts'
import type { SourceError } from '../../domain/source/source-error.ts'
import { inOneTurn } from '../../domain/turns.ts'
import { EntrepotError } from '../../errors.ts'
import { type Market, openMarket } from '../../gateway/market.ts'
import type { MarketRequest } from '../../gateway/market-query.ts'
import type { MarketSource } from '../../gateway/market-settings.ts'
import { Cursors } from '../../gateway/pages/cursor.ts'
import type { Report } from '../../gateway/source-report.ts'
import { CopyIndex } from '../../listing-index/copy-index.ts'
import { healthOf } from './inspect-registry.ts'
import { describeSourceError, type RegistryClient, type SourceOptions } from './registry-client.ts'
import { keyHint, pinHint, type Registry, type SelectedRegistries } from './select-registries.ts'

/** Most listings that are read of a Registry for one question. */
const MAX_LISTINGS = 10_000
/** For the evaluation of what has arrived before the deadline. */
const EVALUATION_MS = 1000

export type Deadlines = {
  /** Per Registry and request. */
  registryMs: number
  /** Per Registry, for all its listings. Default: `registryMs`. */
  wholeMs?: number
  overallMs: number
}

type BuyerOptions = {
  deadlines: Deadlines
  /** Of each Registry. Default: `MAX_LISTINGS`. */
  maxListings?: number
  onSettled?: (registry: Registry, isAnswer: boolean) => void
  describeFailure?: (failure: SourceError, url: string) => string
}

/** The Registries that a buyer reads, the best first, as one market. Sources are named by the exact URLs; its cursors are valid in it alone. */
export function openBuyerMarket(
  client: RegistryClient,
  { registries, tokens }: Pick<SelectedRegistries, 'registries' | 'tokens'>,
  {
    deadlines: { registryMs, wholeMs = registryMs, overallMs },
    maxListings = MAX_LISTINGS,
    onSettled = () => {},
    describeFailure = (failure, url) => describeForBuyer(failure, registryOf(registries, url)),
  }: BuyerOptions,
): Market {
  const isAlone = registries.length === 1
  const index = new CopyIndex([])
  const specs = registries.map((registry) => client.spec(registry, registryMs))
  const options = { index, specs, timeoutMs: registryMs, pullMs: wholeMs, maxListings, isAlone, onSettled }
  return inOneTurn(
    openMarket({
      index,
      sources: registries.map((registry, priority) => {
        return registrySource(client, registry, { ...options, priority })
      }),
      spec: null,
      tokens,
      vocabulary: shippedVocabulary(),
      budgetMs: overallMs + EVALUATION_MS,
      countMs: overallMs,
      clock: systemClock,
      cursors: new Cursors(randomBytes(16).toString('hex'), () => Date.now() / 1000),
      sourceOf: (name) => registryOf(registries, name).url,
      describeFailure,
    }),
  )
}

/** For agents, for as long as the process runs. */
export function openAgentMarket(client: RegistryClient, selected: SelectedRegistries): Market {
  const registryMs = Math.min(selected.discoveryTimeoutMs, AGENT_MS)
  return openBuyerMarket(client, selected, {
    deadlines: { registryMs, wholeMs: AGENT_MS, overallMs: AGENT_MS },
    describeFailure: ({ message }) => message,
  })
}

const AGENT_MS = 10_000

type RegistrySourceOptions = SourceOptions & Required<Pick<BuyerOptions, 'onSettled'>>

function registrySource(
  client: RegistryClient,
  registry: Registry,
  { onSettled, ...options }: RegistrySourceOptions,
): MarketSource {
  const { specs, timeoutMs, priority } = options
  const spec = specs[priority]!
  const source = client.source(registry, spec, options)
  return {
    ...source,
    fetch: async (query, signal) => {
      await source.fetch?.(query, signal)
      onSettled(registry, hasAnswer(source, query))
    },
    spec,
    health: () => healthOf(client, registry, timeoutMs),
  }
}

function hasAnswer(source: Holding, query: ListingQuery): boolean {
  try {
    source.answer(query)
    return true
  } catch {
    return false
  }
}

/** The Registry of that URL, or of one of its sources: `https://gateway.example/curated`. */
function registryOf(registries: readonly Registry[], name: string): Registry {
  const [registry] = registries
    .filter(({ url }) => name === url || name.startsWith(`${url}/`))
    .toSorted((a, b) => b.url.length - a.url.length)
  if (registry !== undefined) return registry
  throw new EntrepotError('bad_request', `There is no source ${JSON.stringify(name)}: see list_sources`)
}

/** Leaves out what the report of the failure already shows. */
function describeForBuyer(failure: SourceError, registry: Registry): string {
  const { reason, retryAfterMs } = failure
  const text = describeSourceError(failure).replace(`${reason}: `, '').replace(`${registry.url}: `, '')
  if (retryAfterMs !== null) return `${text}; try again in ${Math.ceil(retryAfterMs / 1000)} s`
  if (reason === 'signed_requests_required') return `${text}; ${pinHint(registry)}`
  return reason === 'unauthorized' ? `${text}; ${keyHint(registry)}` : text
}

/** The request of a command. It has no key of its own, since each Registry has one. */
export const COMMAND: MarketRequest = { reader: SEES_ALL, signal: new AbortController().signal }

export const NO_TOKENS = new TokenTable([])

/** `answer` is `null` where no Registry answered. */
type Settled<Answer> = { answer: Answer | null; reports: readonly Report[] }

/** An error with the reports of its sources is a result: each Registry failed for a reason of its own. */
export const settle = <Answer extends { sources: readonly Report[] }>(
  pending: Promise<Answer>,
): Promise<Settled<Answer>> =>
  pending.then(
    (answer) => ({ answer, reports: answer.sources }),
    (error: unknown) => {
      if (!(error instanceof EntrepotError) || !Array.isArray(error.members.sources)) throw error
      return { answer: null, reports: error.members.sources }
    },
  )
