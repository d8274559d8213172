import { generateKeyPairSync, randomBytes, randomUUID, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { generateOffers } from '../demo/offers.ts'
import { createClient } from '../src/client/client.ts'
import { signRequest } from '../src/signing/exchange.ts'
import { isProof, openSigner, type Signer } from '../src/signing/proof.ts'
import { toQuestion } from '../src/signing/question.ts'
import { type Child, startEntrepot } from './children.ts'
import { requestsPerSecond } from './load.ts'
import type { Bench, TableRow } from './table.ts'

const LISTINGS = 500
const SECONDS = 2
const CONNECTIONS = 32
/** Both sides are measured in turns, since machines are noisy; the medians count. */
const ROUNDS = 5
/** Of a message that is verified or signed alone. */
const MESSAGE_BYTES = 400

export const signed: Bench = {
  name: 'signed',
  what: 'signed reads of one process, each verified and answered with a new signature, against node:crypto, per second of user time',
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entrepot-bench-'))
    const entrepot = await startEntrepot(await environmentIn(folder))
    try {
      const account = privateKeyToAccount(generatePrivateKey())
      const client = createClient({ url: entrepot.url, account })
      const offers = [...generateOffers('bench', LISTINGS)]
      for (const offer of offers) await client.publish(offer)
      const single = `/listings/${offers[0]!.listing_id}`
      const rows: TableRow[] = []
      for (const scheme of ['ed25519', 'eip191'] as const) {
        const signer = openSigner({ scheme, key: randomBytes(32) })!
        for (const [what, target, budget] of [
          ['one listing', single, scheme === 'ed25519' ? '0.5' : ''],
          ['a page of 50', '/listings?status=open&limit=50', ''],
        ] as const) {
          const measured = await measure(entrepot, target, signer)
          rows.push({ scheme, what, ...measured, budget, 'verifications alone/s': verified(signer) })
        }
      }
      return rows
    } finally {
      await entrepot.close()
      await rm(folder, { recursive: true })
    }
  },
}

async function environmentIn(folder: string): Promise<Record<string, string>> {
  const [config, file] = [join(folder, 'gateway.toml'), join(folder, 'authority.key')]
  const seed = randomBytes(32)
  const { principal } = openSigner({ scheme: 'ed25519', key: seed })!
  await writeFile(config, '[limits]\npublish_per_minute = 0\nlistings_per_publisher = 0\n')
  await writeFile(file, seed.toString('base64url'), { mode: 0o600 })
  return {
    STORE_URL: 'sqlite::memory:',
    ENTREPOT_CONFIG: config,
    REGISTRY_AUTHORITY_ID: 'bench',
    REGISTRY_AUTHORITY_SCHEME: principal.scheme,
    REGISTRY_AUTHORITY_IDENTIFIER: principal.identifier,
    REGISTRY_AUTHORITY_CREDENTIAL_FILE: file,
  }
}

async function measure(entrepot: Child, target: string, signer: Signer): Promise<TableRow> {
  const rounds: (Answers & { alone: number })[] = []
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ alone: verifiedAndSigned(), ...(await answersOf(entrepot, target, signer)) })
  const middle = (of: (round: Answers & { alone: number }) => number): number =>
    rounds.map(of).toSorted((a, b) => a - b)[ROUNDS >> 1]!
  return {
    'answers/s': middle(({ perUserSecond }) => perUserSecond),
    'with the kernel/s': middle(({ perSecond }) => perSecond),
    'node:crypto, verify + sign/s': middle(({ alone }) => alone),
    ratio: middle(({ perUserSecond, alone }) => perUserSecond / alone),
  }
}

/** Per second of processor time of the service, with and without that of the kernel for its connections. */
type Answers = { perUserSecond: number; perSecond: number }

/** The same request again and again is verified, answered and signed each time. */
async function answersOf({ url, pid }: Child, target: string, signer: Signer): Promise<Answers> {
  const { operation, resource, body } = toQuestion({ method: 'GET', target })!
  const headers = signRequest(signer, {
    method: 'GET',
    operation,
    resource,
    requestId: randomUUID(),
    role: 'buyer',
    timestamp: Math.floor(Date.now() / 1000),
    body,
  })
  const load = { seconds: SECONDS, connections: CONNECTIONS, headers }
  await requestsPerSecond(`${url}${target}`, load)
  const before = processorSeconds(pid)
  const count = (await requestsPerSecond(`${url}${target}`, load)) * SECONDS
  const after = processorSeconds(pid)
  const user = after.user - before.user
  return { perUserSecond: count / user, perSecond: count / (user + after.kernel - before.kernel) }
}

function verifiedAndSigned(): number {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const message = randomBytes(MESSAGE_BYTES)
  const proof = sign(null, message, privateKey)
  return repeated(() => {
    verify(null, message, publicKey, proof)
    sign(null, message, privateKey)
  })
}

function verified(signer: Signer): number {
  const message = randomBytes(MESSAGE_BYTES)
  const proof = signer.sign(message)
  return repeated(() => isProof(signer.principal, message, proof))
}

/** Calls per second of user time of this thread. */
function repeated(call: () => void): number {
  const started = process.cpuUsage()
  const used = (): number => process.cpuUsage(started).user / 1_000_000
  let count = 0
  for (; used() < 0.5; count++) call()
  return count / used()
}

/** Of all its threads, since its start (proc(5): utime and stime, in hundredths). */
function processorSeconds(pid: number): { user: number; kernel: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return { user: Number(fields[11]) / 100, kernel: Number(fields[12]) / 100 }
}
