import { Agent, request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { nowSeconds, publishClaim } from '../src/client/signed-write.ts'

/** Concurrent requests: enough to keep the verifier and the group commit busy. */
const IN_FLIGHT = 64

/**
 * Publishes new listings at full speed until the signal. One signature is valid for all, since it covers the wallet and the
 * time; the service checks it for each.
 * @returns acknowledged publishes, and seconds
 */
export async function publishAtFullSpeed(
  url: string,
  signal: AbortSignal,
): Promise<{ published: number; seconds: number }> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const claim = await publishClaim(wallet, nowSeconds())
  const offers = generateOffers('bench', 100)
  const agent = new Agent({ connections: IN_FLIGHT })
  const started = performance.now()
  let sent = 0
  let published = 0
  const publishNext = async (): Promise<void> => {
    while (!signal.aborted) {
      const offer = { ...offers[sent % offers.length]!, listing_id: `${claim.identifier}-${sent++}` }
      const { statusCode, body } = await request(`${url}/listings`, {
        dispatcher: agent,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...offer, ...claim }),
      })
      const text = await body.text()
      if (statusCode !== 201) throw new Error(`publish answered ${statusCode}: ${text}`)
      published++
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, publishNext))
  const seconds = (performance.now() - started) / 1000
  await agent.close()
  return { published, seconds }
}
