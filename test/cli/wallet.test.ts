import test from 'ava'
import { decryptKeystore, parseKeystore } from '../../src/cli/signing/keystore.ts'
import { openWallet } from '../../src/cli/signing/wallet.ts'

const terminal = {
  env: { ENTREPOT_PRIVATE_KEY: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a' },
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
}

test('signatures are those of the deployed protocol', async (t) => {
  const { address, sign } = await openWallet(terminal, undefined)
  t.is(address, '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
  t.is(
    await sign('create_listing', address, 1767225600),
    'ff9cda671a577b0e5af2672b6a4018cf28b6f5d33d360a8ea9fe7e70fcf52cfe3cb2e8176bf8d4549bb7eabce7ad32732993b42f1d469b63a01af0fc6113b8f81b',
  )
  t.is(
    await sign('update_listing', 'L1', 1767225600),
    '71482ebe63571e58e37ebb1ed2f2f658af7f6c00056928bfd1d4183ce432111b2878351e777a007e9e2a396c16d3bd520e108014a01690de17551553485cbe6d1b',
  )
  t.is(
    await sign('delete_listing', 'L1', 1767225600),
    '01ce86319946c9d58e17e1f1ecf3698e38212422a199073048cff9fa8434fad4605f2b91573d866c0b29413cb69dc28c2b8435f5f5b8b4603a7eec12a5a1628b1b',
  )
})

/** ALICE's key with geth's light parameters, made with @noble/hashes. */
const SCRYPT = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
    ciphertext: '7f83ea12d5eb0f7b34a4cb0aa7c1de5cea349798489fd35960c61feb75948332',
    kdf: 'scrypt',
    kdfparams: {
      dklen: 32,
      n: 4096,
      p: 6,
      r: 8,
      salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
    },
    mac: '1a05b7cf99d86ecfa66c222da7c028e1de71a1ef23200357c5c23dcec7d58761',
  },
  version: 3,
}

test('a scrypt keystore opens with its passphrase only', (t) => {
  const keystore = parseKeystore(SCRYPT, 'k.json')
  t.is(
    decryptKeystore(keystore, 'testpassword', 'k.json'),
    '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  )
  t.throws(() => decryptKeystore(keystore, 'testpassworD', 'k.json'), { message: /does not open/ })
})

test('scrypt parameters that OpenSSL refuses are a refusal of ours', (t) => {
  const odd = { ...SCRYPT.crypto, kdfparams: { ...SCRYPT.crypto.kdfparams, n: 262144, r: 1 } }
  const error = t.throws(() =>
    decryptKeystore(parseKeystore({ version: 3, crypto: odd }, 'k.json'), 'x', 'k.json'),
  )
  t.regex(error.message, /k\.json: its scrypt parameters cannot be used/)
})

test('a keystore that asks for too much, or is none, is refused', (t) => {
  const greedy = { ...SCRYPT.crypto, kdfparams: { ...SCRYPT.crypto.kdfparams, n: 2 ** 30 } }
  const keystore = parseKeystore({ version: 3, crypto: greedy }, 'k.json')
  t.throws(() => decryptKeystore(keystore, 'x', 'k.json'), { message: /more memory/ })
  const rounds = { c: 1e9, prf: 'hmac-sha256', dklen: 32, salt: '00' }
  for (const bad of [
    {},
    { version: 3 },
    { version: 1, crypto: SCRYPT.crypto },
    { version: 3, crypto: { ...SCRYPT.crypto, cipher: 'aes-128-cbc' } },
    { version: 3, crypto: { ...SCRYPT.crypto, kdf: 'pbkdf2', kdfparams: rounds } },
  ])
    t.throws(() => parseKeystore(bad, 'k.json'), { message: /no Ethereum keystore/ })
})
