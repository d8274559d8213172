import { privateKeyToAccount } from 'viem/accounts'
import { draftRequest } from '../signing/exchange.ts'
import { type Principal, readPrincipal } from '../signing/principal.ts'
import { openSigner } from '../signing/proof.ts'
import { describeFault, toQuestion } from '../signing/question.ts'
import { readSecret, type Secret } from '../signing/secret.ts'
import { ProblemError } from './problem-error.ts'
import type { Line, Pin, RequestSigner } from './request.ts'

type Account = {
  address: string
  /** As an EIP-191 personal message. */
  signMessage: (parameters: { message: { raw: Uint8Array } }) => Promise<string>
}

type Key = { principal: Principal; sign: (message: Uint8Array) => string | Promise<string> }

/**
 * Signs requests to Registries of the signed line; needs `node:crypto`.
 * @param key a private key in hex, a seed of Ed25519 in base64url, or an account of viem. @throws TypeError for anything else
 */
export function createSigner(key: string | Account): RequestSigner {
  const opened = typeof key === 'string' ? openKey(key) : openAccount(key)
  return { principal: opened.principal, line: (pin) => signedLine(opened, pin) }
}

function openKey(text: string): Key {
  const secret = readSecret(text)
  const signer = secret && openSigner(secret)
  if (signer === null) throw new TypeError('expected a private key in hex, or a seed of Ed25519 in base64url')
  const account = walletOf(secret!)
  return account === null ? signer : openAccount(account)
}

/** The account of viem that a good private key is; `null` for one of ed25519. */
export const walletOf = ({ scheme, key }: Secret) =>
  scheme === 'eip191' ? privateKeyToAccount(`0x${key.toString('hex')}`) : null

function openAccount({ address, signMessage }: Account): Key {
  const principal = readPrincipal('eip191', address)
  if (principal === null) throw new TypeError('the address of the account is no address')
  return { principal, sign: (raw) => signMessage({ message: { raw } }) }
}

/** Signs each request, and refuses answers that no pinned key has signed. Reads are of a buyer, writes of a seller. */
function signedLine({ principal, sign }: Key, { identities }: Pin): Line {
  const keys = identities.map(({ scheme, identifier }) => readPrincipal(scheme, identifier))
  if (keys.length < 1 || keys.length > 2 || keys.includes(null))
    throw new TypeError('pin: expected one or two identities, each with its scheme and identifier')
  return async ({ method, path, body }) => {
    const question = toQuestion({ method, target: `/${path}`, body })
    if (question === null)
      throw new ProblemError(404, { detail: `The signed line has no ${method} /${path}.` })
    const { operation, resource } = question
    const exchange = { method, operation, resource, requestId: crypto.randomUUID() }
    const { headers, message } = draftRequest(principal, {
      ...exchange,
      role: method === 'GET' ? 'buyer' : 'seller',
      timestamp: Math.floor(Date.now() / 1000),
      body: question.body,
    })
    return {
      path: question.target.slice(1),
      headers: { ...headers, 'x-market-signature': await sign(message) },
      faultOf: ({ status, headers: answered, body: bytes }) =>
        describeFault(
          { status, headers: Object.fromEntries(answered), body: Buffer.from(bytes) },
          { exchange, keys: keys as Principal[], now: Date.now() / 1000 },
        ),
    }
  }
}
