import { SourceError } from '../../domain/source/source-error.ts'
import type { KnownSpec, UpstreamSpec } from '../../filter-spec/upstream-spec.ts'
import { describeErrorResponse, getEndpoint, isUnauthorized, type RegistryClient } from './registry-client.ts'
import type { Registry } from './select-registries.ts'

const FRESH_MS = 60_000

/** The filter spec of a buyer's Registry, requested for the first query that has filters. */
export class RegistrySpec implements KnownSpec {
  readonly #fetch: () => Promise<UpstreamSpec>
  #pending: Promise<void> | null = null
  /** Of `performance.now()`. */
  #answeredAt = Number.NEGATIVE_INFINITY
  current: UpstreamSpec | null = null
  /** Of the latest request, where there was never an answer. */
  failure: SourceError | null = null

  constructor(client: RegistryClient, registry: Registry, timeoutMs: number) {
    this.#fetch = () => fetchFilterSpec(client, registry, timeoutMs)
  }

  /** Requests it unless it is fresh, and never rejects. */
  load(): Promise<void> | null {
    if (performance.now() - this.#answeredAt < FRESH_MS) return null
    this.#pending ??= this.#request().finally(() => {
      this.#pending = null
    })
    return this.#pending
  }

  /** Rejects with the failure of a Registry that never answered: its own filters are not known. */
  get loaded(): Promise<void> {
    return (this.#pending ?? Promise.resolve()).then(() => {
      if (this.failure !== null) throw this.failure
    })
  }

  async recheck(doubted: UpstreamSpec | null): Promise<UpstreamSpec | null> {
    if (this.current === doubted) this.#answeredAt = Number.NEGATIVE_INFINITY
    await this.load()
    return this.current
  }

  async #request(): Promise<void> {
    try {
      this.current = await this.#fetch()
      this.failure = null
      this.#answeredAt = performance.now()
    } catch (cause) {
      if (!(cause instanceof SourceError)) throw cause
      if (this.current === null) this.failure = cause
    }
  }
}

/** Empty for a Registry without `GET /filter-spec`. @throws SourceError */
async function fetchFilterSpec(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
): Promise<UpstreamSpec> {
  const [response, { readUpstreamSpec }] = await Promise.all([
    getEndpoint(client, registry, '/filter-spec', timeoutMs),
    import('../../filter-spec/upstream-spec.ts'),
  ])
  if (response.status === 404) return NO_FILTERS
  if (response.status !== 200) {
    const reason = isUnauthorized(response) ? 'unauthorized' : (`http_${response.status}` as const)
    throw new SourceError(reason, `${registry.url}: ${describeErrorResponse(response)}`)
  }
  try {
    return readUpstreamSpec(response.body)
  } catch (cause) {
    throw new SourceError('bad_envelope', `${registry.url}: ${(cause as Error).message}`, { cause })
  }
}

const NO_FILTERS: UpstreamSpec = {
  etag: null,
  schemaId: null,
  filters: new Map(),
  registries: new Map(),
  allowed: new Map(),
}
