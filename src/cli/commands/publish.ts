import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { addSigning, type CommandDefinition, LISTING_FILE } from '../command.ts'
import { type DraftListing, readListingFile } from '../listing-file.ts'
import { printStatus } from '../output/terminal.ts'
import { printWriteResults } from '../output/write-results.ts'
import { endpointUrl } from '../registries/registry-client.ts'
import {
  RegistryWriter,
  type Signed,
  type WriteOptions,
  type WriteResult,
} from '../registries/registry-writer.ts'
import { type Registry, selectRegistries } from '../registries/select-registries.ts'
import { nowSeconds, openWallet, type Wallet } from '../signing/wallet.ts'

/** Per Registry. */
const WRITES_IN_FLIGHT = 4

export const publishCommand: CommandDefinition<WriteOptions> = {
  define: (command) => addSigning(command).argument(...LISTING_FILE),
  example:
    'entrepot publish listings.yaml --key-file seller.key -r https://open.example,https://curated.example',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries } = selectRegistries(terminal, options, 'write')
    const drafts = await readListingFile(terminal, file)
    if (new Set(drafts.map(({ storefrontUrl }) => storefrontUrl ?? '')).size > 1)
      printStatus(
        terminal,
        `${file} names several storefronts; a wallet has one, which will be that of the last listing`,
      )
    const wallet = await openWallet(terminal, options.keyFile)
    const client = await openClient()
    const { deadline } = options
    const results = await Promise.all(
      registries.map((registry) => {
        const writer = new RegistryWriter({ terminal, client, deadline }, registry, drafts.length)
        return publishTo(registry, writer, drafts, new PublishSigner(wallet))
      }),
    )
    return printWriteResults(terminal, results.flat(), { verb: 'published', json: options.json })
  },
}

/** One storefront after the other, that of the last listing last. Results are in the order of the drafts. */
async function publishTo(
  registry: Registry,
  writer: RegistryWriter,
  drafts: readonly DraftListing[],
  signer: PublishSigner,
): Promise<WriteResult[]> {
  const inTurn = pLimit(WRITES_IN_FLIGHT)
  const url = endpointUrl(registry, '/listings')
  const results = new Map<DraftListing, WriteResult>()
  const publishOne = async (draft: DraftListing): Promise<void> => {
    const sign = () => signer.sign(draft, url)
    results.set(draft, await writer.write({ listingId: draft.listingId, sign }))
  }
  const groups = Map.groupBy(drafts.toReversed(), ({ storefrontUrl }) => storefrontUrl)
  for (const group of [...groups.values()].reverse()) {
    signer.beginStorefront()
    while (signer.isTooFarAhead && !writer.isOver) await sleep(1000)
    await Promise.all(group.reverse().map((draft) => inTurn(publishOne, draft)))
  }
  return drafts.map((draft) => results.get(draft)!)
}

/** Registries accept five minutes. */
const MAX_SECONDS_AHEAD = 60

/**
 * A signature covers the wallet and the second, and a Registry accepts it for one storefront only. So each
 * storefront gets a second of its own, at most a minute ahead of the clock.
 */
class PublishSigner {
  readonly #wallet: Wallet
  #second = 0
  #signature: Promise<string> | null = null

  constructor(wallet: Wallet) {
    this.#wallet = wallet
  }

  beginStorefront(): void {
    this.#use(Math.max(nowSeconds(), this.#second + 1))
  }

  get isTooFarAhead(): boolean {
    return this.#second > nowSeconds() + MAX_SECONDS_AHEAD
  }

  async sign({ members }: DraftListing, url: string): Promise<Signed> {
    this.#use(Math.max(nowSeconds(), this.#second))
    const { address } = this.#wallet
    const timestamp = this.#second
    this.#signature ??= this.#wallet.sign('create_listing', address, timestamp)
    const claim = { scheme: 'eip191', identifier: address, timestamp, signature: await this.#signature }
    const listed = [...members].map(([name, text]) => `${JSON.stringify(name)}:${text},`).join('')
    return {
      timestamp,
      request: { method: 'POST', url, body: `{${listed}${JSON.stringify(claim).slice(1)}` },
    }
  }

  #use(second: number): void {
    if (second !== this.#second) this.#signature = null
    this.#second = second
  }
}
