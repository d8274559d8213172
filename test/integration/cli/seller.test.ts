import test from 'ava'
import { deadUrl } from '../../helpers/fake-registry.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { hasTerminal, runCli, runInTerminal, temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, ALICE_KEY, AS_ALICE, AS_BOB, BOB } from '../../helpers/seller.ts'

/** Two listings, one of them with numbers that JavaScript would rewrite. */
const FILE = `[
  {"listing_id": "one", "storefront_url": "https://alice.example/", "offer_resource": {"gpu_model": "H200", "sla": 99.0, "serial": 9007199254740993}, "publisher_id": 7},
  {"listing_id": "two", "storefront_url": "https://alice.example/", "offer_resource": {"gpu_model": "L4"}}
]`

type Result = { registry: string; listing_id: string; outcome: string; status: number | null; error?: string }
const results = (stdout: string): Result[] => JSON.parse(stdout)
const outcomes = (stdout: string): string[] =>
  results(stdout).map(({ listing_id, outcome }) => `${listing_id} ${outcome}`)

test.serial('publish: an array goes to every Registry unchanged, with a result each', async (t) => {
  const [one, two] = [await startRegistry(t), await startRegistry(t)]
  const file = temporaryFile(t, 'listings.json', `\ufeff${FILE}`) // a byte order mark is no part of it
  const { code, stdout, stderr } = await runCli(['publish', file, '--as-is', '-r', `${one.url},${two.url}`], {
    env: AS_ALICE,
  })
  t.is(code, 0)
  t.deepEqual(outcomes(stdout), ['one accepted', 'two accepted', 'one accepted', 'two accepted'])
  t.regex(stderr, /one: accepted, but offer_resource: .*region/)
  for (const { get } of [one, two]) {
    const { text } = await get('/listings/one')
    t.true(text.includes('"offer_resource":{"gpu_model": "H200", "sla": 99.0, "serial": 9007199254740993}'))
  }
  const { json } = await one.get(`/publishers?identifier=${ALICE.address}`)
  t.is((json().items as unknown[]).length, 1)
})

test.serial(
  'publish: YAML is read like JSON, with its digits; members that Registries ignore are named',
  async (t) => {
    const { url, get } = await startRegistry(t)
    const offer =
      '{sla: 99.0, small: 1e-7, long: 0.1000000000000000055, serial: 9007199254740993, 1.0: one, 0x1F: two}'
    const file = temporaryFile(t, 'l.yaml', `listing_id: y\noffer_resource: ${offer}\noffer_resuorce: {}\n`)
    const { code, stderr } = await runCli(['publish', file, '--as-is', '-r', url], { env: AS_ALICE })
    t.is(code, 0)
    t.regex(stderr, /'offer_resuorce'/)
    t.regex(
      (await get('/listings/y')).text,
      /\{"sla":99\.0,"small":1e-7,"long":0\.1000000000000000055,"serial":9007199254740993,"1\.0":"one","0x1F":"two"\}/,
    )
  },
)

test.serial('publish: NDJSON is read, as `listings --ndjson` and a gateway print it', async (t) => {
  const { url, get } = await startRegistry(t)
  const lines = ['{"listing_id":"a","offer_resource":{"sla":99.0}}', '', '{"listing_id":"b"}']
  const publishLines = (text: string, file = '-') =>
    runCli(['publish', file, '--as-is', '-r', url], { env: AS_ALICE, input: text })
  t.deepEqual(outcomes((await publishLines(lines.join('\n'))).stdout), ['a accepted', 'b accepted'])
  t.true((await get('/listings/a')).text.includes('"sla":99.0'))
  const printed = await runCli(['listings', '-r', url, '--ndjson'])
  const end = '{"_meta":{"complete":true,"sources":[]}}\n'
  const file = temporaryFile(t, 'all.ndjson', `${printed.stdout}${end}`)
  t.deepEqual(outcomes((await publishLines('', file)).stdout).toSorted(), ['a accepted', 'b accepted'])
  const partial = await publishLines(`${lines[0]}\n${end.replace('true', 'false')}`)
  t.deepEqual([partial.code, partial.stdout], [65, ''])
  t.regex(partial.stderr, /stdin:2: the listings are not complete, as this line says/)
  const broken = await publishLines(`${lines[0]}\n{"listing_id":`)
  t.is(broken.code, 65)
  t.regex(broken.stderr, /stdin:2: not JSON: /)
})

test.serial('publish: a file that JSON cannot hold unchanged is refused with its line', async (t) => {
  const { url, get } = await startRegistry(t)
  const latin1 = Buffer.from('{"listing_id":"x",\n"offer_resource":{"region":"Zürich"}}', 'latin1')
  const cases: [name: string, content: string | Buffer, message: RegExp][] = [
    ['l.json', latin1, /l\.json:2: .*UTF-8/],
    ['l.yaml', 'listing_id: x\noffer_resource:\n  sla: .inf\n', /l\.yaml:3: \.inf .*JSON/],
    ['l.yaml', 'listing_id: x\noffer_resource: [-.INF]\n', /l\.yaml:2: -\.INF .*JSON/],
    ['l.yaml', 'listing_id: x\n\noffer_resource: {sla: .nan}\n', /l\.yaml:3: \.nan .*JSON/],
    ...CHANGED_BY_YAML.map((text): [string, string, RegExp] => [
      'l.yaml',
      `listing_id: x\ndemands:\n  - ${text}\n`,
      /l\.yaml:3: .* is read as .*: quote it/,
    ]),
    [
      'l.yaml',
      '%YAML 1.1\n---\nlisting_id: x\noracle_address: yes\n',
      /l\.yaml:4: yes is read as true: quote it/,
    ],
    ['l.yaml', '- listing_id: x\n- listing_id: x\n', /l\.yaml has the listing_id x twice: remove one/],
    ['l.yaml', 'listing_id: x\noffer_resource: !thing 1\n', /l\.yaml:2: .*!thing/],
    ['l.yaml', 'listing_id: x\noffer_resource: {\n', /l\.yaml:3: /],
    ['l.yaml', 'listing_id: x\noffer_resource: a: b\n', /l\.yaml:2: check the indentation of this line/],
    [
      'l.yaml',
      'listing_id: x\nstatus: opne\n',
      /l\.yaml:2: x: status must be one of .*; did you mean open\?/,
    ],
  ]
  for (const [name, content, message] of cases) {
    const { code, stdout, stderr } = await runCli(['publish', temporaryFile(t, name, content), '-r', url], {
      env: AS_ALICE,
    })
    t.deepEqual([code, stdout], [65, ''], String(message))
    t.regex(stderr, message)
  }
  const piped = await runCli(['publish', '-', '-r', url], { env: AS_ALICE, input: latin1 })
  t.is(piped.code, 65)
  t.regex(piped.stderr, /stdin:2: .*UTF-8/)
  t.is((await get('/listings/x')).status, 404)
})

/** Unquoted texts that YAML reads as another number than their digits. */
const CHANGED_BY_YAML = [
  '{ arbiter: 0x5dE4111afA1A4b94908F83103eB1f1706367c2E6 }',
  '{ arbiter: 0x0 }',
  '0o17',
  '007',
  '+49',
  '.5',
  '1.',
  '!!int "0x12"',
]

test.serial('publish: exit 3 for some unreachable, 4 for all, 65 for bad data, 1 without key', async (t) => {
  const { url } = await startRegistry(t)
  const dead = deadUrl()
  const file = temporaryFile(t, 'l.json', '{"listing_id":"x"}')
  const some = await runCli(['publish', file, '--as-is', '-r', `${url},${dead}`], { env: AS_ALICE })
  t.is(some.code, 3)
  t.deepEqual(outcomes(some.stdout), ['x accepted', 'x no_answer'])
  t.is((await runCli(['publish', file, '-r', dead], { env: AS_ALICE })).code, 4)
  t.is((await runCli(['publish', file, '--as-is', '-r', url])).code, 1)
  const bad = temporaryFile(t, 'bad.json', '{"listing_id":"x","status":"sold"}')
  t.is((await runCli(['publish', bad, '--as-is', '-r', url], { env: AS_ALICE })).code, 65)
  t.is(
    (await runCli(['publish', temporaryFile(t, 'no.json', '{"a":1}'), '-r', url], { env: AS_ALICE })).code,
    65,
  )
})

test.serial('key file: one that others can read is refused; a key is never printed', async (t) => {
  const { url } = await startRegistry(t)
  const file = temporaryFile(t, 'l.json', '{"listing_id":"x"}')
  const open = await runCli([
    'publish',
    file,
    '--as-is',
    '-r',
    url,
    '--key-file',
    temporaryFile(t, 'key', `${ALICE_KEY}\n`, 0o644),
  ])
  t.is(open.code, 78)
  t.regex(open.stderr, /chmod 600/)
  const closed = await runCli([
    'publish',
    file,
    '--as-is',
    '-r',
    url,
    '--key-file',
    temporaryFile(t, 'key', ALICE_KEY.slice(2)),
  ])
  t.is(closed.code, 0)
  const broken = await runCli(['publish', file, '--as-is', '-r', url], {
    env: { ENTREPOT_PRIVATE_KEY: `${ALICE_KEY}00` },
  })
  t.is(broken.code, 78)
  for (const { stdout, stderr } of [open, closed, broken])
    t.false((stdout + stderr).includes(ALICE_KEY.slice(2, 18)))
})

const withTerminal = hasTerminal ? test.serial : test.skip

withTerminal('keystore: the passphrase is read without echo', async (t) => {
  const { url, get } = await startRegistry(t)
  const args = ['publish', temporaryFile(t, 'l.json', '{"listing_id":"x"}'), '--as-is', '-r', url]
  const keystore = temporaryFile(t, 'keystore.json', KEYSTORE)
  const { code, stdout } = await runInTerminal([...args, '--key-file', keystore], {
    type: { prompt: 'Passphrase', text: 'testpasswordX\u007f\r' },
  })
  t.is(code, 0)
  t.false(stdout.includes('testpassword'))
  t.is((await get('/listings/x')).status, 200)
  const wrong = await runCli([...args, '--key-file', keystore], { input: 'guess\n' })
  t.is(wrong.code, 78)
  const interrupted = await runInTerminal([...args, '--key-file', keystore], {
    type: { prompt: 'Passphrase', text: '\u0003' },
  })
  t.is(interrupted.code, 130)
})

test.serial('validate: a listing that waits for others to be checked loses none of its time', async (t) => {
  let requests = 0
  const url = await listen(t, ({ method }, response) => {
    if (method === 'GET') response.writeHead(404).end()
    else if (++requests > 8) response.end('{"valid":true,"errors":[]}')
  })
  const listings = Array.from({ length: 50 }, (_, n) => ({ listing_id: `l${n}` }))
  const file = temporaryFile(t, 'l.json', JSON.stringify(listings))
  const { code, stdout } = await runCli(['validate', file, '-r', url, '--discovery-timeout', '0.5'])
  const verdicts: { valid: boolean | null }[] = JSON.parse(stdout)
  t.deepEqual([code, verdicts.filter(({ valid }) => valid === null).length], [3, 8])
})

test.serial('validate: agrees with a Registry whose filter spec alone is known', async (t) => {
  const shape = {
    type: 'object',
    properties: {
      offer_resource: {
        type: 'object',
        properties: { net: { type: 'object', properties: { speed: { type: 'integer' } } } },
      },
      demands: { type: 'array', items: { type: 'object', properties: { arbiter: { type: 'string' } } } },
      max_duration_seconds: { type: 'integer' },
    },
  }
  const spec = { version: 1, listing_shape: shape, filters: [] }
  const registry = await startRegistry(t, {
    environment: { REGISTRY_FILTER_SPEC_PATH: temporaryFile(t, 'spec.yaml', JSON.stringify(spec)) },
  })
  const withoutRoute = await listen(t, (request, response) => {
    if (request.url === '/filter-spec') response.end(JSON.stringify(spec))
    else response.writeHead(404).end()
  })
  for (const [listing, code] of [
    ['"offer_resource":{"net":{"speed":null}},"demands":[{"arbiter":null}],"max_duration_seconds":null', 0],
    ['"offer_resource":{}', 0],
    ['"offer_resource":{"net":{"speed":"fast"}}', 65],
    ['"offer_resource":[]', 65],
    ['"demands":null', 65],
    ['"max_duration_seconds":"3600"', 65],
    ['"accepted_escrows":[{"rates":[{"value":5}]}]', 65],
  ] as const) {
    const file = temporaryFile(t, 'l.json', `{"listing_id":"x",${listing}}`)
    const runs = await Promise.all(
      [registry.url, withoutRoute].map((url) => runCli(['validate', file, '-r', url])),
    )
    t.deepEqual(
      runs.map((run) => run.code),
      [code, code],
      listing,
    )
    const [served, computed] = runs.map(({ stdout }) => JSON.parse(stdout)[0].errors)
    t.deepEqual(computed, served, listing)
  }
})

/** Web3 Secret Storage's own PBKDF2 example. */
const KEYSTORE = JSON.stringify({
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
})

test.serial(
  'publish: the same refusal of many listings is printed once, with the address that signed',
  async (t) => {
    const { url } = await startRegistry(t)
    const many = Array.from({ length: 30 }, (_, n) => ({ listing_id: `l${n}` }))
    const file = temporaryFile(t, 'listings.json', JSON.stringify(many))
    const publish = (env: Record<string, string>) => runCli(['publish', file, '--as-is', '-r', url], { env })
    t.is((await publish(AS_ALICE)).code, 0)
    const { stdout, stderr } = await publish(AS_BOB)
    t.is(results(stdout).length, results(stdout).filter(({ outcome }) => outcome !== 'accepted').length)
    const refused = results(stdout).filter(({ outcome }) => outcome === 'refused').length
    const lines = stderr.split('\n').filter((line) => line.includes('owned by another publisher'))
    t.is(lines.length, 2, stderr)
    const signer = `it is signed by ${BOB.address.toLowerCase()}: is that the listing's publisher?`
    t.true(lines[1]!.endsWith(`${signer} (${refused} listings)`), lines[1])
  },
)
