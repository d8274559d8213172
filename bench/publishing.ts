import { Agent, request } from 'undici'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { nowSeconds, publishClaim } from '../src/client/signed-write.ts'

/** Concurrent requests: enough to keep the verifier and the group commit busy. */
const IN_FLIGHT = 64

/** What `publisher.ts` sends. */
export type PublisherLoad = 'publishes' | 'bad signatures'

/**
 * Publishes new listings at full speed until the signal. A signature is valid for all listings of its second, since it covers
 * the wallet and the time; the service checks it for each.
 * @returns acknowledged publishes, and seconds
 */
export async function publishAtFullSpeed(
  url: string,
  signal: AbortSignal,
): Promise<{ published: number; seconds: number }> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const started = performance.now()
  const published = await sendListings(url, wallet, {}, [201], signal)
  return { published, seconds: (performance.now() - started) / 1000 }
}

/** Sends publishes whose signatures are of another wallet, at full speed until the signal. */
export async function sendBadSignatures(url: string, signal: AbortSignal): Promise<void> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const { address } = privateKeyToAccount(generatePrivateKey())
  await sendListings(url, wallet, { identifier: address.toLowerCase() }, [401, 429], signal)
}

async function sendListings(
  url: string,
  wallet: PrivateKeyAccount,
  changes: { identifier?: string },
  expected: readonly number[],
  signal: AbortSignal,
): Promise<number> {
  const offers = generateOffers('bench', 100)
  const agent = new Agent({ connections: IN_FLIGHT })
  let sent = 0
  let answered = 0
  let claim: Awaited<ReturnType<typeof publishClaim>> | null = null
  const sendNext = async (): Promise<void> => {
    while (!signal.aborted) {
      if (claim?.timestamp !== nowSeconds()) claim = await publishClaim(wallet, nowSeconds())
      const offer = { ...offers[sent % offers.length]!, listing_id: `${claim.identifier}-${sent++}` }
      const { statusCode, body } = await request(`${url}/listings`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...offer, ...claim, ...changes }),
      })
      const text = await body.text()
      if (!expected.includes(statusCode)) throw new Error(`publish answered ${statusCode}: ${text}`)
      answered++
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendNext))
  await agent.close()
  return answered
}
