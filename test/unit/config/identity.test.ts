import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { loadConfig } from '../../../src/config/config.ts'
import { openSigner } from '../../../src/signing/proof.ts'
import { readSecret } from '../../../src/signing/secret.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'

const KEY = 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg'
const SEED = Buffer.alloc(32, 7).toString('base64url')
const SIGNED = 'protocol = "signed"'
const PINNED = `${SIGNED}\nauthority = "registry-a"\nidentities = [{ scheme = "ed25519", identifier = "${KEY}" }]`

type Files = { key?: string; mode?: number; scheme?: string; settings?: string; hasIdentity?: boolean }

function load(
  t: ExecutionContext,
  { key = SEED, mode = 0o600, scheme = 'ed25519', settings = PINNED, hasIdentity = true }: Files,
) {
  const keyFile = temporaryFile(t, 'gateway.key', `${key}\n`)
  chmodSync(keyFile, mode)
  const identity = `[gateway.identity]\nscheme = "${scheme}"\nkey_file = "${keyFile}"\n`
  const upstream = `[[upstreams]]\nname = "market"\nurl = "https://registry.example"\n${settings}\n`
  const file = temporaryFile(t, 'gateway.toml', `${hasIdentity ? identity : ''}${upstream}`)
  return { keyFile, file, config: () => loadConfig({ ENTREPOT_CONFIG: file }) }
}

test('identity: a signed upstream has its pin, and longer periods; a plain one has none', (t) => {
  const { upstreams, identity, warnings } = load(t, {}).config()
  t.like(upstreams[0], {
    pin: { authority: 'registry-a', keys: [{ scheme: 'ed25519', identifier: KEY }] },
    refreshSeconds: 60,
    fullRefreshSeconds: 3600,
  })
  t.is(identity?.signer.principal.scheme, 'ed25519')
  t.deepEqual(warnings, [])
  const plain = load(t, { settings: '', hasIdentity: false }).config()
  t.is(plain.identity, null)
  t.like(plain.upstreams[0], { pin: null, refreshSeconds: 15, fullRefreshSeconds: 60 })
  t.like(load(t, { settings: `${PINNED}\nrefresh_seconds = 5` }).config().upstreams[0], { refreshSeconds: 5 })
})

test('identity: what cannot be used stops the start, with the file, the line and what to do', (t) => {
  const cases: [Files, string][] = [
    [
      { hasIdentity: false },
      'toml:4: upstreams[0].protocol: a signed Registry answers signed requests only; add [gateway.identity]',
    ],
    [{ mode: 0o620 }, 'gateway.key, and so replace the key; run: chmod 600 '],
    [{ key: 'seed' }, 'gateway.key holds no key of ed25519; entrepot identity new FILE writes one'],
    [{ scheme: 'eip191' }, 'gateway.key holds no key of eip191'],
    [{ settings: 'authority = "a"' }, 'upstreams[0].protocol: is plain, where nothing is signed'],
    [{ settings: SIGNED }, 'upstreams[0].authority: is missing; add the name of the Registry'],
    [{ settings: `${SIGNED}\nauthority = "a"` }, '[0].identities: is missing; add the key of the Registry'],
    [{ settings: `${PINNED}\nkind = "gateway"` }, '[0].kind: a gateway is read by the plain line'],
    [{ settings: PINNED.replace(KEY, '0x12') }, 'upstreams[0].identities[0]: is no key of ed25519'],
    [{ settings: PINNED.replace(/{.*}/, '$&, $&') }, 'identities[1]: is there twice; remove one'],
  ]
  for (const [files, message] of cases) {
    const { config } = load(t, files)
    t.true(t.throws(config)?.message.includes(message), message)
  }
})

test('identity: a key that others can read is a warning; a missing one stops the start', (t) => {
  const { config, keyFile } = load(t, { mode: 0o644 })
  t.deepEqual(config().warnings, [
    {
      path: 'gateway.identity.key_file',
      message: `others can read ${keyFile}, and sign as this gateway; run: chmod 600 ${keyFile}`,
    },
  ])
  const gone = temporaryFile(t, 'gateway.toml', '[gateway.identity]\nscheme = "ed25519"\nkey_file = "gone"\n')
  t.regex(
    t.throws(() => loadConfig({ ENTREPOT_CONFIG: gone }))?.message ?? '',
    new RegExp(`cannot read ${dirname(gone)}/gone: no such file; entrepot identity new FILE writes one`),
  )
})

test('authority: four variables, whose file holds exactly that key', (t) => {
  const file = temporaryFile(t, 'authority.key', SEED)
  const { identifier } = openSigner(readSecret(SEED)!)!.principal
  const load = (change: Record<string, string>) =>
    loadConfig({
      ENTREPOT_CONFIG: temporaryFile(t, 'gateway.toml', ''),
      REGISTRY_AUTHORITY_ID: 'registry-a',
      REGISTRY_AUTHORITY_SCHEME: 'ed25519',
      REGISTRY_AUTHORITY_IDENTIFIER: identifier,
      REGISTRY_AUTHORITY_CREDENTIAL_FILE: file,
      ...change,
    })
  t.is(load({}).authority?.id, 'registry-a')
  chmodSync(file, 0o644)
  const message = `others can read ${file}, and sign as this Registry; run: chmod 600 ${file}`
  t.deepEqual(load({}).warnings, [{ path: 'REGISTRY_AUTHORITY_CREDENTIAL_FILE', message }])
  for (const [name, value, problem] of [
    ['ID', '', /^REGISTRY_AUTHORITY_ID: missing; the four REGISTRY_AUTHORITY_… go together$/m],
    ['IDENTIFIER', '0x1', /^REGISTRY_AUTHORITY_IDENTIFIER: is no identifier of the scheme 'ed25519'$/m],
    ['IDENTIFIER', KEY, /^REGISTRY_AUTHORITY_CREDENTIAL_FILE: .* holds the key of another identifier, /m],
    ['CREDENTIAL_FILE', '/gone', /^REGISTRY_AUTHORITY_CREDENTIAL_FILE: cannot read \/gone: no such file/m],
  ] as const)
    t.throws(() => load({ [`REGISTRY_AUTHORITY_${name}`]: value }), { message: problem })
})
