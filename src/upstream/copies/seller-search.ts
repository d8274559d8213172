import type { Clock } from '../../domain/clock.ts'
import type { Caching } from '../../domain/query.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { Get } from '../http/get.ts'
import { fetchPublishers, type PublisherDirectory } from '../publisher-directory.ts'

/** How long a Registry without a directory has none, and how long a failure counts for all sellers. */
const WITHOUT_DIRECTORY_MS = 60_000
const FAILED_MS = 5_000
const MAX_SELLERS = 20_000

type SellerSearchOptions = {
  get: Get
  publishers: PublisherDirectory
  /** How long a seller counts as unknown. */
  freshMs: number
  clock: Clock
}

/** `until`: ms since the Unix epoch. */
type Answer = { listed: Promise<boolean>; until: number }

/** Searches the directory of a Registry for single sellers (docs/protocol.md#9-publishers-statistics-health). */
export class SellerSearch {
  readonly #options: SellerSearchOptions
  readonly #answers = new Map<string, Answer>()
  /** For all sellers: there is no directory, or it has failed. */
  #common: Answer | null = null

  constructor(options: SellerSearchOptions) {
    this.#options = options
  }

  /**
   * Whether listings there may have that publisher. `false` only after an empty answer or a list that was read to its
   * end, and for a Registry without a directory, whose listings have no known publishers. @throws SourceError
   */
  has(address: string, caching: Caching | undefined): Promise<boolean> {
    const { publishers, freshMs, clock } = this.#options
    if (publishers.storefrontOf(address) !== undefined) return Promise.resolve(true)
    const now = clock.monotonic()
    for (const answer of [this.#answers.get(address), this.#common])
      if (answer && caching !== 'no-cache' && now < answer.until) return answer.listed
    if (caching === 'only-if-cached')
      return Promise.reject(new SourceError('timeout', 'the seller was not looked for yet'))
    const listed = this.#search(address)
    listed.catch(() => {}) // the caller gets it
    this.#answers.delete(address)
    this.#answers.set(address, { listed, until: now + freshMs })
    if (this.#answers.size > MAX_SELLERS) this.#answers.delete(this.#answers.keys().next().value!)
    return listed
  }

  async #search(address: string): Promise<boolean> {
    try {
      const isListed = await this.#isListed(address)
      this.#common = null
      return isListed
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      const hasNone = error.reason === 'http_404'
      const listed = hasNone ? Promise.resolve(false) : Promise.reject(error)
      listed.catch(() => {}) // every caller gets it
      const ms = hasNone ? WITHOUT_DIRECTORY_MS : FAILED_MS
      this.#answers.delete(address)
      this.#common = { listed, until: this.#options.clock.monotonic() + ms }
      return listed
    }
  }

  /**
   * A Registry that ignores `identifier` sends a page of all publishers, which proves that one is missing only if no page
   * follows.
   */
  async #isListed(address: string): Promise<boolean> {
    const { get, publishers } = this.#options
    const first = await fetchPublishers(get, `identifier=${address}`)
    for (const publisher of first.publishers) publishers.add(publisher)
    if (first.received === 0) return false
    if (first.publishers.some((publisher) => publisher.address === address)) return true
    const rest = await fetchPublishers(get, `identifier=${address}&offset=${first.received}`)
    return rest.received > 0
  }
}
