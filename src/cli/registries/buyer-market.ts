import { randomBytes } from 'node:crypto'
import { shippedVocabulary } from '../../config/vocabulary.ts'
import { raceAbort, systemClock, withDeadline } from '../../domain/clock.ts'
import { TokenTable } from '../../domain/price/token.ts'
import type { ListingQuery } from '../../domain/query.ts'
import { SEES_ALL } from '../../domain/reader.ts'
import type { Range, Source } from '../../domain/source/reading.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { Cursors } from '../../gateway/cursor.ts'
import { createMarket, type Market } from '../../gateway/market.ts'
import type { MarketSource } from '../../gateway/market-parts.ts'
import type { MarketRequest } from '../../gateway/market-query.ts'
import type { Report } from '../../gateway/source-report.ts'
import { healthOf } from './inspect-registry.ts'
import { describeSourceError, type RegistryClient } from './registry-client.ts'
import { RegistrySpec } from './registry-spec.ts'
import { keyHint, pinHint, type Registry, type SelectedRegistries } from './select-registries.ts'

export type Deadlines = {
  /** Per Registry and read. */
  registryMs: number
  /** The same where every listing that matches is read. Default: `registryMs`. */
  wholeMs?: number
  overallMs: number
}

type BuyerOptions = {
  deadlines: Deadlines
  /** Default: pages have no cursors. */
  cursors?: Cursors
  onSettled?: (registry: Registry, isAnswer: boolean) => void
  describeFailure?: (failure: SourceError, url: string) => string
}

/** The Registries that a buyer reads, the best first, as one market. Sources are named by the exact URLs. */
export function openBuyerMarket(
  client: RegistryClient,
  { registries, tokens }: Pick<SelectedRegistries, 'registries' | 'tokens'>,
  {
    deadlines,
    cursors,
    onSettled = () => {},
    describeFailure = (failure, url) => describeForBuyer(failure, registryOf(registries, url)),
  }: BuyerOptions,
): Market {
  return createMarket({
    sources: registries.map((registry, n) => registrySource(client, registry, n, { deadlines, onSettled })),
    spec: null,
    tokens,
    vocabulary: shippedVocabulary(),
    budgetMs: deadlines.overallMs,
    countMs: deadlines.overallMs,
    clock: systemClock,
    cursors: cursors ?? null,
    maxDepth: Number.POSITIVE_INFINITY,
    sourceOf: (name) => registryOf(registries, name).url,
    describeFailure,
  })
}

/** For agents, for as long as the process runs; cursors are valid for that time. */
export function openAgentMarket(
  client: RegistryClient,
  selected: SelectedRegistries,
  cursors: Cursors = new Cursors(randomBytes(16).toString('hex'), () => Date.now() / 1000),
): Market {
  const registryMs = Math.min(selected.discoveryTimeoutMs, AGENT_MS)
  return openBuyerMarket(client, selected, {
    deadlines: { registryMs, wholeMs: AGENT_MS, overallMs: AGENT_MS },
    cursors,
    describeFailure: ({ message }) => message,
  })
}

const AGENT_MS = 10_000

function registrySource(
  client: RegistryClient,
  registry: Registry,
  priority: number,
  { deadlines, onSettled }: Required<Pick<BuyerOptions, 'deadlines' | 'onSettled'>>,
): MarketSource {
  const { url: name } = registry
  const { registryMs, wholeMs = registryMs } = deadlines
  const spec = new RegistrySpec(client, registry, registryMs)
  const read = withTimeout(registry, registryMs, client.source(registry, registryMs, spec))
  const readWhole = withTimeout(registry, wholeMs, client.source(registry, wholeMs, spec))
  return {
    source: {
      name,
      visibility: 'public',
      mode: 'live',
      priority,
      // Any of them may be a gateway.
      mayRepeat: true,
      read: async (query, range, signal) => {
        try {
          const reading = await (readsAll(query, range) ? readWhole : read)(query, range, signal)
          onSettled(registry, true)
          return reading
        } catch (error) {
          if (error instanceof SourceError) onSettled(registry, false)
          throw error
        }
      },
    },
    spec: {
      name,
      kind: 'gateway',
      priority,
      spec: () => spec.current,
      load: () => spec.load(),
      failure: () => spec.failure,
    },
    health: () => healthOf(client, registry, registryMs),
  }
}

function readsAll({ priceLimit }: ListingQuery, { count }: Range): boolean {
  return priceLimit !== undefined || count === Number.POSITIVE_INFINITY
}

const withTimeout =
  ({ url }: Registry, ms: number, source: Source): Source =>
  (query, range, caller) => {
    const timeoutError = () => new SourceError('timeout', `${url}: no answer within ${ms} ms`)
    return withDeadline({ ms, timeoutError, caller }, (signal) =>
      raceAbort(source(query, range, signal), signal),
    )
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
