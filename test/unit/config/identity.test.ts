import { chmodSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { loadConfig } from '../../../src/config/config.ts'
import { openSigner } from '../../../src/signing/proof.ts'
import { readSecret } from '../../../src/signing/secret.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'

const KEY = 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg'
const SEED = Buffer.alloc(32, 7).toString('base64url')
const PINNED = `protocol = "signed"\nauthority = "registry-a"\nidentities = [{ scheme = "ed25519", identifier = "${KEY}" }]`

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
  const cases: [Files, RegExp][] = [
    [
      { hasIdentity: false },
      /gateway\.toml:4: upstreams\[0\]\.protocol: a signed Registry answers signed requests only; add \[gateway\.identity\]$/,
    ],
    [
      { mode: 0o620 },
      /gateway\.identity\.key_file: others can write .*gateway\.key, and so replace the key; run: chmod 600 /,
    ],
    [{ key: 'seed' }, /gateway\.key holds no key of ed25519; entrepot identity new FILE writes one$/],
    [{ scheme: 'eip191' }, /gateway\.key holds no key of eip191/],
    [{ settings: 'authority = "a"' }, /upstreams\[0\]\.protocol: is plain, where nothing is signed/],
    [
      { settings: 'protocol = "signed"' },
      /upstreams\[0\]\.authority: is missing; add the name of the Registry$/,
    ],
    [
      { settings: 'protocol = "signed"\nauthority = "a"' },
      /upstreams\[0\]\.identities: is missing; add the key of the Registry$/,
    ],
    [
      { settings: `${PINNED}\nkind = "gateway"` },
      /upstreams\[0\]\.kind: a gateway is read by the plain line/,
    ],
    [{ settings: PINNED.replace(KEY, '0x12') }, /upstreams\[0\]\.identities\[0\]: is no key of ed25519$/],
    [
      { settings: PINNED.replace('}]', `}, { scheme = "ed25519", identifier = "${KEY}" }]`) },
      /identities\[1\]: is there twice; remove one$/,
    ],
  ]
  for (const [files, message] of cases) {
    const { config } = load(t, files)
    t.regex(t.throws(config)?.message ?? '', new RegExp(message.source, 'm'))
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
  const { file } = load(t, {})
  const gone = temporaryFile(t, 'gateway.toml', '[gateway.identity]\nscheme = "ed25519"\nkey_file = "gone"\n')
  t.regex(
    t.throws(() => loadConfig({ ENTREPOT_CONFIG: gone }))?.message ?? '',
    new RegExp(`cannot read ${dirname(gone)}/gone: no such file; entrepot identity new FILE writes one`),
  )
  t.truthy(file)
})

test('authority: four variables, whose file holds exactly that key', (t) => {
  const file = temporaryFile(t, 'authority.key', SEED)
  const good = {
    ENTREPOT_CONFIG: temporaryFile(t, 'gateway.toml', ''),
    REGISTRY_AUTHORITY_ID: 'registry-a',
    REGISTRY_AUTHORITY_SCHEME: 'ed25519',
    REGISTRY_AUTHORITY_IDENTIFIER: KEY,
    REGISTRY_AUTHORITY_CREDENTIAL_FILE: file,
  }
  const { authority } = loadConfig({ ...good, REGISTRY_AUTHORITY_IDENTIFIER: identifierOf(file) })
  t.is(authority?.id, 'registry-a')
  chmodSync(file, 0o644)
  const exposed = loadConfig({ ...good, REGISTRY_AUTHORITY_IDENTIFIER: identifierOf(file) })
  t.deepEqual(exposed.warnings, [
    {
      path: 'REGISTRY_AUTHORITY_CREDENTIAL_FILE',
      message: `others can read ${file}, and sign as this Registry; run: chmod 600 ${file}`,
    },
  ])
  const cases: [Record<string, string>, RegExp][] = [
    [
      { REGISTRY_AUTHORITY_ID: '' },
      /^REGISTRY_AUTHORITY_ID: missing; the four REGISTRY_AUTHORITY_… go together$/m,
    ],
    [
      { REGISTRY_AUTHORITY_IDENTIFIER: '0x1' },
      /^REGISTRY_AUTHORITY_IDENTIFIER: is no identifier of the scheme 'ed25519'$/m,
    ],
    [
      { REGISTRY_AUTHORITY_IDENTIFIER: KEY },
      /^REGISTRY_AUTHORITY_CREDENTIAL_FILE: .* holds the key of another identifier, /m,
    ],
    [
      { REGISTRY_AUTHORITY_CREDENTIAL_FILE: '/gone' },
      /^REGISTRY_AUTHORITY_CREDENTIAL_FILE: cannot read \/gone: no such file/m,
    ],
  ]
  for (const [change, message] of cases)
    t.regex(t.throws(() => loadConfig({ ...good, ...change }))?.message ?? '', message)
})

const identifierOf = (file: string): string =>
  openSigner(readSecret(readFileSync(file, 'utf8'))!)!.principal.identifier
