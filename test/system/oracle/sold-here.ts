import type { Random } from '../../helpers/random.ts'
import type { Reply } from '../../helpers/registry.ts'
import { publish, remove, update } from '../../helpers/seller.ts'
import { terms } from './changes.ts'
import { walletOf } from './own-registry.ts'
import { escrows } from './scripted-registry.ts'
import type { Sold, ViewMarket } from './view-market.ts'

/** Signed writes to the own Registry of one gateway. */
export class SoldHere {
  readonly #url: string
  readonly #now: () => number
  /** Of the latest signature: no two of a seller may have the same second. */
  #second = 0

  constructor(url: string, now: () => number) {
    this.#url = url
    this.#now = now
  }

  /** Publishes, replaces, closes, opens or deletes a listing of the market's own Registry. @returns what was done */
  async change(market: ViewMarket, random: Random): Promise<string> {
    const kind = random.pick(['publish', 'publish', 'publish', 'replace', 'status', 'remove'] as const)
    const known = market.sold.length === 0 ? null : random.pick(market.sold)
    if (kind === 'publish' || known === null) return this.#publishNew(market, random)
    if (kind === 'remove') {
      expectSuccess(await remove(this.#url, known.listingId, this.#signed(known)))
      market.sold = market.sold.filter((one) => one !== known)
      return `remove ${known.key}`
    }
    if (!market.accepts(known)) return `${known.key} is denied`
    const changed: Sold =
      kind === 'replace'
        ? { ...known, terms: terms(random) }
        : { ...known, status: known.status === 'open' ? 'closed' : 'open' }
    if (kind === 'replace') await this.publish(changed)
    else await this.#setStatus(changed)
    market.sold = market.sold.map((one) => (one === known ? changed : one))
    return `${kind} ${known.key} ${JSON.stringify(changed.terms)} ${changed.status}`
  }

  /** With its status. */
  async publish(sold: Sold): Promise<void> {
    const { listingId, publisher, terms: offered, status } = sold
    const fields = {
      listing_id: listingId,
      storefront_url: publisher.storefrontUrl,
      offer_resource: { ...offered, price: undefined },
      accepted_escrows: escrows(offered),
    }
    const { seller, timestamp } = this.#signed(sold)
    expectSuccess(await publish(this.#url, seller, fields, { timestamp }))
    if (status === 'closed') await this.#setStatus(sold)
  }

  async #publishNew(market: ViewMarket, random: Random): Promise<string> {
    const listing = market.newListing(random)
    const key = `${listing.publisher.address} ${listing.listingId}`
    const sold: Sold = { ...listing, key, status: 'open' }
    const isTaken = market.sold.some(({ listingId }) => listingId === sold.listingId)
    if (isTaken || !market.accepts(sold)) return `${key} is not published`
    await this.publish(sold)
    market.sold = [...market.sold, sold]
    return `publish ${key} ${JSON.stringify(sold.terms)}`
  }

  async #setStatus(sold: Sold): Promise<void> {
    expectSuccess(await update(this.#url, sold.listingId, { status: sold.status }, this.#signed(sold)))
  }

  #signed({ publisher }: Sold) {
    this.#second = Math.max(this.#second + 1, Math.floor(this.#now() / 1000) - MAX_PAST_SECONDS)
    return { seller: walletOf(publisher), timestamp: this.#second }
  }
}

/** Signatures may be 300 s old. */
const MAX_PAST_SECONDS = 200

function expectSuccess({ status, text }: Reply): void {
  if (status >= 300) throw new Error(`the own Registry answers ${status}: ${text}`)
}
