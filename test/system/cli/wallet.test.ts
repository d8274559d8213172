import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { decryptKeystore, parseKeystore } from '../../../src/cli/signing/keystore.ts'
import { openSellers } from '../../../src/cli/signing/seller-keys.ts'
import { signOperation } from '../../../src/client/signed-write.ts'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { startRegistry } from '../../helpers/registry.ts'
import {
  BIN,
  CLI,
  hasTerminal,
  runCli,
  runInTerminal,
  runShell,
  temporaryFile,
  temporaryFolder,
} from '../../helpers/run-cli.ts'
import { ALICE_KEY, AS_ALICE } from '../../helpers/seller.ts'

const terminal = {
  env: AS_ALICE,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
}

/** Hex of 65 bytes, of 2026-01-01 00:00 UTC. */
const SIGNATURES = [
  [
    'create_listing',
    '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
    'ff9cda671a577b0e5af2672b6a4018cf28b6f5d33d360a8ea9fe7e70fcf52cfe3cb2e8176bf8d4549bb7eabce7ad32732993b42f1d469b63a01af0fc6113b8f81b',
  ],
  [
    'update_listing',
    'L1',
    '71482ebe63571e58e37ebb1ed2f2f658af7f6c00056928bfd1d4183ce432111b2878351e777a007e9e2a396c16d3bd520e108014a01690de17551553485cbe6d1b',
  ],
  [
    'delete_listing',
    'L1',
    '01ce86319946c9d58e17e1f1ecf3698e38212422a199073048cff9fa8434fad4605f2b91573d866c0b29413cb69dc28c2b8435f5f5b8b4603a7eec12a5a1628b1b',
  ],
] as const

test('wallet: signatures are those of the deployed protocol', async (t) => {
  const [seller] = await openSellers(terminal, [{ url: 'http://plain.example', key: null }], {})
  for (const [operation, subject, signature] of SIGNATURES)
    t.is(await signOperation(seller!.account!, operation, subject, 1767225600), signature)
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

test('keystore: a scrypt file opens with its passphrase only', (t) => {
  const keystore = parseKeystore(SCRYPT, 'k.json')
  t.is(decryptKeystore(keystore, 'testpassword', 'k.json'), ALICE_KEY)
  t.throws(() => decryptKeystore(keystore, 'testpassworD', 'k.json'), { message: /does not open/ })
})

/** With n above 2^(16 r), which RFC 7914 does not allow and OpenSSL refuses. */
const LARGE_N = {
  version: 3,
  crypto: {
    ...SCRYPT.crypto,
    ciphertext: '48aaaff1d94a5fa3fd22b793218eb6b6fc4c2c7a7a177175c2503e8d6c2d6478',
    cipherparams: { iv: '07070707070707070707070707070707' },
    kdfparams: {
      dklen: 32,
      n: 131072,
      p: 1,
      r: 1,
      salt: '7b6358be40c7c00f284408bbe37ad9d0f78637376079e9a1140b1bcd680dd426',
    },
    mac: '4882e85d12a241de0839d8cba6f1b659d27235be582d36ce563bf09266d7cc65',
  },
}

test('keystore: files of other wallets are read: large n, Crypto, 0x, upper case', (t) => {
  const { mac, ciphertext } = SCRYPT.crypto
  const Crypto = { ...SCRYPT.crypto, mac: `0x${mac.toUpperCase()}`, ciphertext: `0x${ciphertext}` }
  for (const file of [LARGE_N, { version: 3, Crypto, address: '3c44', id: null }])
    t.is(decryptKeystore(parseKeystore(file, 'k.json'), 'testpassword', 'k.json'), ALICE_KEY)
})

const withParameters = (kdf: string, kdfparams: object): object => ({
  version: 3,
  crypto: { ...SCRYPT.crypto, kdf, kdfparams },
})

test('keystore: another file is refused, and one that costs gigabytes or minutes before any work', (t) => {
  const { kdfparams } = SCRYPT.crypto
  const rounds = { prf: 'hmac-sha256', dklen: 32, salt: '00' }
  for (const [bad, message] of [
    [null, /not an Ethereum keystore/],
    [{}, /not an Ethereum keystore/],
    [{ version: 3 }, /not an Ethereum keystore/],
    [{ version: 1, crypto: SCRYPT.crypto }, /not an Ethereum keystore/],
    [{ version: 3, crypto: { ...SCRYPT.crypto, cipher: 'aes-128-cbc' } }, /not an Ethereum keystore/],
    [{ version: 3, crypto: { ...SCRYPT.crypto, mac: 'ab' } }, /not an Ethereum keystore/],
    [withParameters('pbkdf2', SCRYPT.crypto.kdfparams), /not an Ethereum keystore/],
    [withParameters('scrypt', { ...kdfparams, n: 2 ** 30 }), /k\.json .*kdfparams/],
    [withParameters('scrypt', { ...kdfparams, n: 2 ** 20, r: 8, p: 64 }), /k\.json .*kdfparams/],
    [withParameters('scrypt', { ...kdfparams, n: 2, r: 1, p: 2 ** 20 }), /k\.json .*kdfparams/],
    [withParameters('pbkdf2', { ...rounds, c: 1e9 }), /k\.json .*kdfparams/],
  ] as const)
    t.throws(() => parseKeystore(bad, 'k.json'), { message })
  const odd = parseKeystore(withParameters('scrypt', { ...kdfparams, n: 4097 }), 'k.json')
  const error = t.throws(() => decryptKeystore(odd, 'x', 'k.json'))
  t.like(error, { exitCode: 78 })
  t.regex(error.message, /k\.json: its scrypt parameters cannot be used/)
})

test.serial('wallet: a new keystore signs, is private and never replaces a file', async (t) => {
  const { url, get } = await startRegistry(t)
  const file = join(temporaryFolder(t), 'seller.json')
  const env = { ENTREPOT_KEY_PASSPHRASE_FILE: temporaryFile(t, 'passphrase', 'correct horse\n') }
  const created = await runCli(['wallet', 'new', file], { env })
  t.is(created.code, 0, created.stderr)
  const address = created.stdout.trim()
  t.regex(address, /^0x[0-9a-f]{40}$/)
  t.is(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  t.like(JSON.parse(text), { version: 3, address: address.slice(2), crypto: { kdf: 'scrypt' } })
  // Printing the address needs no passphrase.
  const shown = await runCli(['wallet', 'address', '--key-file', file])
  t.is(shown.stdout, `${address}\n`)
  t.regex(created.stderr, /back it up now/)
  t.is((await runCli(['wallet', 'new', file], { env })).code, 1)
  t.is(readFileSync(file, 'utf8'), text)
  // The listings come from stdin, the passphrase from its file.
  const listing = readFileSync('config/listing.example.yaml', 'utf8')
  const piped = await runCli(['publish', '-', '-r', url, '--key-file', file], { env, input: listing })
  t.is(piped.code, 0, piped.stderr)
  t.is((await get(`/publishers?identifier=${address}`)).json().count, 1)
  const bare = await runCli(['wallet', 'address', '--json'], { env: terminal.env })
  t.is(JSON.parse(bare.stdout).address, '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
})

test.serial('wallet: of the passphrase in a file only its line end is cut', async (t) => {
  const file = join(temporaryFolder(t), 'seller.json')
  t.is((await runCli(['wallet', 'new', file], { input: ' correct horse \n' })).code, 0)
  const listing = temporaryFile(t, 'listing.json', '[{"listing_id":"a","offer_resource":{}}]')
  const publishWith = async (passphrase: string) => {
    const env = { ENTREPOT_KEY_PASSPHRASE_FILE: temporaryFile(t, 'passphrase', passphrase) }
    return (await runCli(['publish', listing, '-r', deadUrl(), '--key-file', file], { env })).stderr
  }
  for (const text of [' correct horse \n', '\ufeff correct horse \r\n', ' correct horse '])
    t.regex(await publishWith(text), /signed by 0x/, JSON.stringify(text))
  for (const text of ['correct horse\n', ' correct horse \n\n'])
    t.regex(await publishWith(text), /does not open/, JSON.stringify(text))
})

test.serial('wallet: a pipe of the passphrase that stays open does not keep the process', async (t) => {
  const keystore = temporaryFile(t, 'keystore.json', JSON.stringify(SCRYPT))
  const child = spawn(process.execPath, [BIN, 'wallet', 'address', '--key-file', keystore])
  t.teardown(() => child.kill())
  child.stdin.write('testpassword\n')
  t.deepEqual(await once(child, 'exit'), [0, null])
})

test.serial(
  'wallet: a key file that cannot be used is exit code 78, whatever is wrong with it',
  async (t) => {
    const keystore = temporaryFile(t, 'keystore.json', JSON.stringify(SCRYPT))
    const cases: [file: string, env: Record<string, string>, message: RegExp][] = [
      ['/nowhere/key', {}, /cannot read the key file \/nowhere\/key: no such file/],
      [temporaryFile(t, 'key', ALICE_KEY, 0o644), {}, /chmod 600/],
      [temporaryFile(t, 'key', 'abc'), {}, /expected 32 bytes in hex/],
      [temporaryFile(t, 'key', '{}'), {}, /not an Ethereum keystore/],
      [keystore, { ENTREPOT_KEY_PASSPHRASE_FILE: '/nowhere/pass' }, /cannot read the passphrase file/],
      [keystore, { ENTREPOT_KEY_PASSPHRASE_FILE: temporaryFile(t, 'pass', 'guess') }, /does not open/],
    ]
    for (const [file, env, message] of cases) {
      const { code, stdout, stderr } = await runCli(['wallet', 'address', '--key-file', file], { env })
      t.deepEqual([code, stdout], [78, ''], String(message))
      t.regex(stderr, message)
    }
  },
)

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal('wallet: with listings on stdin the terminal is asked for the passphrase', async (t) => {
  const { url, get } = await startRegistry(t)
  const keystore = temporaryFile(t, 'keystore.json', JSON.stringify(SCRYPT))
  const listing = temporaryFile(t, 'l.json', '{"listing_id":"x"}')
  const args = ['publish', '-', '--as-is', '-r', url, '--key-file', keystore]
  const { code, stdout } = await runInTerminal(args, {
    stdin: listing,
    type: { prompt: 'Passphrase', text: 'testpassword\r' },
  })
  t.is(code, 0, stdout)
  t.false(stdout.includes('testpassword'))
  t.is((await get('/listings/x')).status, 200)
  const command = `setsid -w ${CLI} ${args.join(' ')} < ${listing}`
  const without = await runShell(command)
  t.is(without.code, 1)
  t.regex(
    without.stderr,
    /^entrepot: no passphrase: stdin holds the listings; .*ENTREPOT_KEY_PASSPHRASE_FILE$/m,
  )
})
