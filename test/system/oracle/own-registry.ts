import { privateKeyToAccount } from 'viem/accounts'
import { parseTimestamp } from '../../../src/domain/timestamp.ts'
import type { Random } from '../../helpers/random.ts'
import { type Reply, send } from '../../helpers/registry.ts'
import { publish, remove, update } from '../../helpers/seller.ts'
import type { History, Publisher, Status, Terms, Version } from './history.ts'
import { OWN } from './plan.ts'
import { escrows } from './scripted-registry.ts'

type Wallet = ReturnType<typeof privateKeyToAccount>

const WALLETS = ['11', '22', '33'].map((byte) => privateKeyToAccount(`0x${byte.repeat(32)}`))

/** The sellers that can sign, so that the gateway's own Registry takes their listings. */
export const SIGNERS: readonly Publisher[] = WALLETS.map(({ address }, n) => ({
  address: address.toLowerCase(),
  storefrontUrl: `http://signer-${n}.example/`,
}))

/** The gateway's own Registry: signed writes of sellers, and what it served since. */
export class OwnRegistry {
  readonly #url: string
  readonly #history: History
  /** Of the latest signature: no two of a seller may have the same second. */
  #second = 0
  readonly #listings = new Map<string, Version>()

  constructor(url: string, history: History) {
    this.#url = url
    this.#history = history
  }

  listings(): Version[] {
    return [...this.#listings.values()]
  }

  /** Publishes, closes, opens again or deletes one listing; `others` may be published here, too. */
  async change(others: readonly Version[], terms: (random: Random) => Terms, random: Random): Promise<void> {
    const known = this.listings()
    const own = others.filter(({ publisher }) => SIGNERS.some(({ address }) => address === publisher.address))
    const kind = random.pick([
      'publish',
      'publish',
      'copy',
      'copy',
      'close',
      'close',
      'reopen',
      'delete',
    ] as const)
    if (kind === 'copy' && own.length > 0) {
      const { listingId, publisher } = random.pick(own)
      await this.#publish(listingId, signerOf(publisher), terms(random))
    } else if (known.length === 0 || kind === 'publish' || kind === 'copy') {
      const id = `${random.below(1000)}-${100_000 + this.#second}`
      await this.#publish(id, random.pick(SIGNERS), terms(random))
    } else {
      const { listingId, publisher } = random.pick(known)
      if (kind === 'delete') await this.#remove(listingId, publisher)
      else await this.#setStatus(listingId, publisher, kind === 'close' ? 'closed' : 'open')
    }
  }

  async #publish(listingId: string, seller: Publisher, terms: Terms): Promise<void> {
    const before = this.#listings.get(listingId)
    if (before !== undefined && before.publisher.address !== seller.address) return
    const fields = {
      listing_id: listingId,
      storefront_url: seller.storefrontUrl,
      offer_resource: { ...terms, price: undefined },
      accepted_escrows: escrows(terms),
    }
    expectSuccess(await publish(this.#url, walletOf(seller), fields, { timestamp: this.#nextSecond() }))
    await this.#record(listingId, seller, terms)
  }

  async #setStatus(listingId: string, seller: Publisher, status: Status): Promise<void> {
    const signed = { seller: walletOf(seller), timestamp: this.#nextSecond() }
    expectSuccess(await update(this.#url, listingId, { status }, signed))
    await this.#record(listingId, seller, this.#listings.get(listingId)!.terms)
  }

  async #remove(listingId: string, seller: Publisher): Promise<void> {
    const signed = { seller: walletOf(seller), timestamp: this.#nextSecond() }
    expectSuccess(await remove(this.#url, listingId, signed))
    this.#history.end(this.#listings.get(listingId)!)
    this.#listings.delete(listingId)
  }

  /** What it serves from now on. */
  async #record(listingId: string, publisher: Publisher, terms: Terms): Promise<void> {
    const before = this.#listings.get(listingId)
    const { listing } = (await send(`${this.#url}/listings/${listingId}?registry=${OWN}`)).json() as {
      listing: { _meta?: unknown; created_at: string; status: Status }
    }
    delete listing._meta
    if (before !== undefined) this.#history.end(before)
    const version = this.#history.begin({
      registry: OWN,
      key: `${publisher.address} ${listingId}`,
      listingId,
      publisher,
      terms,
      status: listing.status,
      createdAt: parseTimestamp(listing.created_at)!,
      text: JSON.stringify(listing),
    })
    this.#listings.set(listingId, version)
  }

  #nextSecond(): number {
    this.#second = Math.max(this.#second + 1, Math.floor(this.#history.now().at / 1000) - MAX_PAST_SECONDS)
    return this.#second
  }
}

/** Signatures may be 300 s old. */
const MAX_PAST_SECONDS = 200

/** A liar may have named another storefront of the seller. */
function signerOf({ address }: Publisher): Publisher {
  return SIGNERS.find((one) => one.address === address)!
}

export function walletOf({ address }: Publisher): Wallet {
  return WALLETS.find((wallet) => wallet.address.toLowerCase() === address)!
}

function expectSuccess({ status, text }: Reply): void {
  if (status >= 300) throw new Error(`the own Registry answers ${status}: ${text}`)
}
