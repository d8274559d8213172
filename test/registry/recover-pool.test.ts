import test from 'ava'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverAddress } from '../../src/registry/signature/recover-address.ts'
import { createRecoverPool, MAX_WAITING } from '../../src/registry/signature/recover-pool.ts'
import type { Signature } from '../../src/registry/signature/verify-claim.ts'

const WALLET = privateKeyToAccount('0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a')

async function signatureOf(message: string): Promise<Signature> {
  const hex = (await WALLET.signMessage({ message })).slice(2)
  return {
    r: BigInt(`0x${hex.slice(0, 64)}`),
    s: BigInt(`0x${hex.slice(64, 128)}`),
    yParity: hex.endsWith('1b') ? 0 : 1,
  }
}

test('recover pool: threads recover the same addresses as recoverAddress', async (t) => {
  const { recover, close } = createRecoverPool({ threads: 1 })
  t.teardown(close)
  const signature = await signatureOf('update_listing:L1:1767225600')
  t.is(await recover('update_listing:L1:1767225600', signature), WALLET.address.toLowerCase())
  for (const [message, odd] of [
    ['another message', signature],
    ['é🚀', signature],
    ['update_listing:L1:1767225600', { ...signature, yParity: 1 - signature.yParity }],
    ['update_listing:L1:1767225600', { ...signature, r: 5n }],
  ] as [string, Signature][]) {
    t.is(await recover(message, odd), await recoverAddress(message, odd))
  }
})

test("recover pool: a task beyond the queue's limit is refused at once", async (t) => {
  const { recover, close } = createRecoverPool({ threads: 1 })
  const signature = await signatureOf('m')
  const waiting = Array.from({ length: MAX_WAITING + 10 }, () => recover('m', signature))
  waiting.map((one) => one.catch(() => {}))
  const error = await t.throwsAsync(waiting.at(-1)!)
  t.like(error, { code: 'unavailable', headers: { 'Retry-After': '1' } })
  await close()
})
