import type { Identity } from '../domain/merge.ts'
import type { Item } from '../domain/page.ts'
import type { Carrier } from './namesakes.ts'

/** What a walk has done with a copy, so that it knows the listing's other copies when they come by. */
export type Mark = Identity & {
  listingId: string
  /** How many listings had been shown before. Never falls. */
  at: number
  isShown: boolean
  /** Where it was passed by for a better copy to come. */
  carrier?: Carrier
  /** Those of the better copies that are this listing's because it waits for them. */
  claims?: readonly string[]
  /** Whether one of them has other offers or escrows. */
  differs?: boolean
}

/**
 * What a walk has shown and passed by, in that order: some 200 bytes a listing. One walk may be gone on with from
 * several places, so what belongs to a place is what was marked before it: `since` is that of another history.
 */
export class History {
  readonly #since: { history: History; nth: number } | null
  readonly #marks: Mark[] = []
  readonly #byId = new Map<string, Mark | Mark[]>()
  /** One string for all listings of a storefront. */
  readonly #texts = new Map<string, string>()
  /** It says what there is to say of the first so many listings. */
  #end = 0

  constructor(since: { history: History; nth: number } | null = null) {
    this.#since = since
  }

  /** Marks of its own. */
  get size(): number {
    return this.#marks.length
  }

  /** Of that listing and its namesakes, oldest first. */
  of(listingId: string): readonly Mark[] {
    const own = this.#byId.get(listingId)
    const marks = own === undefined ? NONE : [own].flat()
    if (this.#since === null) return marks
    const { history, nth } = this.#since
    const before = history.of(listingId).filter(({ at }) => at < nth)
    return before.length === 0 ? marks : [...before, ...marks]
  }

  add({ listingId, publisher, storefrontUrl }: Item, mark: Omit<Mark, keyof Identity | 'listingId'>): void {
    const [who, where] = [this.#same(publisher), this.#same(storefrontUrl)]
    this.#put({ listingId, publisher: who, storefrontUrl: where, ...mark })
  }

  /**
   * This history with what a walk from its `nth` listing on has marked, up to the listing numbered `end`. It is this
   * very one, unless another walk from there has seen something else: then a copy.
   */
  goneOnWith(walked: History, nth: number, end: number): History {
    const isKept = ({ at }: Mark): boolean => at < Math.min(end, this.#end)
    const marks = walked.#marks.filter(({ at }) => at < end)
    if (this.#end < nth || !isSame(this.#marksFrom(nth).filter(isKept), marks.filter(isKept))) {
      const fork = new History()
      for (const mark of this.#marks) if (mark.at < nth) fork.#put(mark)
      return fork.#extend(marks, end)
    }
    return this.#extend(
      marks.filter((mark) => !isKept(mark)),
      end,
    )
  }

  #extend(marks: readonly Mark[], end: number): this {
    for (const mark of marks) this.#put(mark)
    this.#end = Math.max(this.#end, end)
    return this
  }

  #put(mark: Mark): void {
    const known = this.#byId.get(mark.listingId)
    this.#byId.set(mark.listingId, known === undefined ? mark : [known, mark].flat())
    this.#marks.push(mark)
  }

  /** The last ones: a walk is nearly always gone on with where it ended. */
  #marksFrom(nth: number): Mark[] {
    let first = this.#marks.length
    while (first > 0 && this.#marks[first - 1]!.at >= nth) first--
    return this.#marks.slice(first)
  }

  #same(text: string | null): string | null {
    if (text === null) return null
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return known ?? text
  }
}

const NONE: readonly Mark[] = []

const isSame = (some: readonly Mark[], others: readonly Mark[]): boolean =>
  some.length === others.length &&
  some.every((mark, n) => {
    const other = others[n]!
    return (
      mark.at === other.at &&
      mark.isShown === other.isShown &&
      mark.listingId === other.listingId &&
      mark.publisher === other.publisher &&
      mark.storefrontUrl === other.storefrontUrl
    )
  })
