import test from 'ava'
import type { NewBlock } from '../../../../src/domain/block.ts'
import {
  type ListingFields,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
  rowBytes,
  USE_SECONDS,
} from '../../../../src/domain/listing.ts'
import { MAX_ROTATIONS, type PublisherIdentity } from '../../../../src/domain/publisher.ts'
import { nowMicros } from '../../../../src/domain/timestamp.ts'
import type {
  NewKey,
  PublishCommand,
  RecordedAnswer,
  RemoveCommand,
  UpdateCommand,
  WriteRequest,
} from '../../../../src/store/commands.ts'
import { LEASE_MICROS } from '../../../../src/store/guard.ts'
import type { Store } from '../../../../src/store/store.ts'
import { Picture } from '../../../helpers/store/picture.ts'
import {
  ALICE,
  BOB,
  freshRequest,
  freshUse,
  keyNamed,
  loaded,
  type OpenStore,
  published,
  publishOf,
  removeOf,
  updateOf,
} from '../../../helpers/store/subject.ts'

type Act = (store: Store) => Promise<unknown>

/** What is done, and its outcome, or what its answer is like. `again`: the answer of the same act before. */
type Step = readonly [act: Act, expected: unknown]

const SECOND = 1_000_000
const DAY = 86_400
const CAROL = { scheme: 'ed25519', identifier: 'carol' }
const DAN = { scheme: 'ed25519', identifier: 'dan' }
const A = { storefrontUrl: 'https://a.example' }
const B = { storefrontUrl: 'https://b.example' }
const BODY = { status: 201, body: '{"listing_id":"ü"}' }
const EXACT = {
  offerResource: '{ "price": 99.0, "big": 1180591620717411303424, "z": 1, "a": "\\u0000 é 😀 \\"\\\\" }',
  acceptedEscrows: '[{"rates":[1e21,-0.0]}]',
  demands: '[[],{}]',
  maxDurationSeconds: '3600',
  oracleAddress: '"0xFe"',
  settlementOptions: '[{"rates":[1.50]}]',
}

function publish(listingId: string, overrides: Partial<PublishCommand> = {}): Act {
  const command = publishOf(listingId, overrides)
  return (store) => store.publish(command)
}

function update(listingId: string, overrides: Partial<UpdateCommand> = {}): Act {
  const command = updateOf(listingId, overrides)
  return (store) => store.update(command)
}

function remove(listingId: string, overrides: Partial<RemoveCommand> = {}): Act {
  const command = removeOf(listingId, overrides)
  return (store) => store.remove(command)
}

const reserve =
  (use: WriteRequest): Act =>
  (store) =>
    store.reserve(use)

const settle =
  (use: WriteRequest, answer: RecordedAnswer | null): Act =>
  (store) =>
    store.settle(use, answer)

/** Of publisher 1, with a request of its own. */
const rotate =
  (
    nonce: string,
    [current, replacement]: readonly [PublisherIdentity, PublisherIdentity],
    {
      use = freshRequest(),
      seconds = 50,
      publisherId = 1,
    }: { use?: WriteRequest; seconds?: number; publisherId?: number } = {},
  ): Act =>
  async (store) => {
    await store.reserve(use)
    const intent = { nonce, current, replacement, overlapSeconds: seconds, expiresAt: 4_000_000_000 }
    return store.rotate({ publisherId, intent, use })
  }

const retire =
  (nonce: string, identity: PublisherIdentity, use = freshRequest(), publisherId = 1): Act =>
  async (store) => {
    await store.reserve(use)
    return store.retire({ publisherId, nonce, identity, use })
  }

const listing =
  (listingId: string): Act =>
  async (store) =>
    (await Picture.of(store)).listings.get(listingId) ?? null

/** Name and storefront of each. */
const publishers: Act = async (store) =>
  [...(await Picture.of(store)).publishers.values()].map(
    ({ publisherId, scheme, identifier, storefrontUrl }) =>
      [publisherId, scheme, identifier, storefrontUrl].join(' '),
  )

/** What a rule says, as commands and their outcomes. A refusal and a repeat change nothing. */
const RULES: Readonly<Record<string, () => readonly Step[]>> = {
  'a new listing has what is published, to the byte, and defaults for the rest': () => [
    [publish('L'), { outcome: 'published', record: { status: 'open', publisherId: 1 } }],
    [listing('L'), { ...NEW_LISTING_FIELDS, status: 'open' }],
    [publish('ids/with "any" text é 😀', { fields: EXACT, status: 'expired' }), 'published'],
    [listing('ids/with "any" text é 😀'), { ...EXACT, status: 'expired' }],
  ],
  'what a publish leaves out stays': () => [
    [publish('L', { fields: EXACT, status: 'closed' }), 'published'],
    [publish('L', { fields: { demands: '[]' } }), 'published'],
    [listing('L'), { ...EXACT, demands: '[]', status: 'closed' }],
    [publish('L', { status: 'open', fields: { settlementOptions: '[]' } }), 'published'],
    [listing('L'), { ...EXACT, demands: '[]', settlementOptions: '[]', status: 'open' }],
  ],
  'each scheme and identifier is a publisher, with the latest storefront URL': () => [
    [publish('L', A), 'published'],
    [publish('M', { identity: BOB }), 'published'],
    [publish('N', { identity: { ...ALICE, scheme: 'other' }, storefrontUrl: '' }), 'published'],
    [publish('O', { storefrontUrl: null }), 'published'],
    [publish('P', { storefrontUrl: '' }), 'published'],
    [publishers, ['1 eip191 0xa11ce https://a.example', '2 eip191 0xb0b ', '3 other 0xa11ce ']],
    [publish('L', B), 'published'],
    [publishers, ['1 eip191 0xa11ce https://b.example', '2 eip191 0xb0b ', '3 other 0xa11ce ']],
  ],
  'a publisher has at most maxListings': () => [
    [publish('L', { maxListings: 2 }), 'published'],
    [publish('M', { maxListings: 2 }), 'published'],
    [publish('N', { maxListings: 2, ...A }), 'too_many_listings'],
    [publish('L', { maxListings: 2 }), 'published'],
    [publish('N', { maxListings: 2, identity: BOB }), 'published'],
    [remove('L'), 'removed'],
    [remove('nothing'), 'not_found'],
    [publish('L', { maxListings: 2, identity: BOB }), 'published'],
    [publish('O', { maxListings: 2 }), 'published'],
    [publish('P', { maxListings: 2 }), 'too_many_listings'],
    [publish('P', { maxListings: 0 }), 'published'],
  ],
  'a listing is changed by its publisher only': () => [
    [publish('L', A), 'published'],
    [publish('L', { identity: BOB, ...B }), 'not_owner'],
    [update('L', { identity: BOB, status: 'closed' }), 'not_owner'],
    [remove('L', { identity: BOB }), 'not_owner'],
    [update('M', { status: 'closed' }), 'not_found'],
    [remove('M'), 'not_found'],
  ],
  'an update changes status and oracle only': () => [
    [publish('L', { fields: EXACT }), 'published'],
    [update('L', { status: 'closed' }), { outcome: 'updated', record: { status: 'closed' } }],
    [update('L', { oracleAddress: 'null' }), 'updated'],
    [update('L'), 'updated'],
    [listing('L'), { ...EXACT, status: 'closed', oracleAddress: 'null' }],
  ],
  'a removal keeps the publisher, and frees the id': () => [
    [publish('L'), 'published'],
    [remove('L'), 'removed'],
    [listing('L'), null],
    [publish('L', { identity: BOB }), { outcome: 'published', record: { publisherId: 2 } }],
    [publishers, ['1 eip191 0xa11ce ', '2 eip191 0xb0b ']],
  ],
  'a repeated publish gets its first answer until the listing changes': () => {
    const first = publish('L', { fields: EXACT, ...A })
    return [
      [first, 'published'],
      [publish('M', B), 'published'],
      [first, 'again'],
      [update('L', { status: 'closed' }), 'updated'],
      [first, 'signature_reused'],
      [remove('L'), 'removed'],
      [first, 'signature_reused'],
      [publish('L', { identity: BOB }), 'published'],
      [first, 'signature_reused'],
    ]
  },
  'a repeated update or removal gets its first answer until the listing changes': () => {
    const use = freshUse()
    const [close, gone] = [update('L', { status: 'closed', use }), remove('L')]
    const reopen = update('L', { status: 'open', use: { ...use, body: 'another' } })
    return [
      [publish('L'), 'published'],
      [close, 'updated'],
      [close, 'again'],
      [reopen, 'signature_reused'],
      [update('L'), 'updated'],
      [close, 'signature_reused'],
      [gone, 'removed'],
      [gone, 'again'],
      [close, 'signature_reused'],
      [reopen, 'not_found'],
      [publish('L', { identity: BOB }), 'published'],
      [close, 'signature_reused'],
      [reopen, 'not_owner'],
      [gone, 'signature_reused'],
    ]
  },
  'a signature is good for one body of an operation on a listing': () => {
    const use = freshUse()
    return [
      [publish('L', { use }), 'published'],
      [publish('M', { use: { ...use, body: 'another' } }), 'published'],
      [publish('L', { use: { ...use, body: 'another' }, status: 'closed' }), 'signature_reused'],
      [update('L', { use, status: 'closed' }), 'updated'],
      [remove('L', { use }), 'removed'],
      [remove('L', { use: { ...use, body: 'another' } }), 'not_found'],
      [hasUse('publish', 'L', use), true],
      [hasUse('publish', 'M', use), true],
      [hasUse('publish', 'N', use), false],
      [hasUse('update', 'M', use), false],
      [hasUse('publish', 'L', freshUse()), false],
    ]
  },
  'a refused use is not remembered': () => {
    const [taken, gone] = [publish('L', { identity: BOB }), remove('M')]
    return [
      [publish('L'), 'published'],
      [taken, 'not_owner'],
      [gone, 'not_found'],
      [remove('L'), 'removed'],
      [publish('M'), 'published'],
      [taken, 'published'],
      [gone, 'removed'],
    ]
  },
  'a publish signature is bound to the storefront URL of its first use': () => {
    const { signature, now } = freshUse()
    const [first, other] = [
      () => freshUse({ signature, now }),
      () => freshUse({ signature: `no ${signature}`, now }),
    ]
    return [
      // Ids fall, so that the first use is not also the first in the order of ids.
      [publish('9', { ...A, use: first() }), 'published'],
      [publish('8', { use: first() }), 'published'],
      [publish('7', { ...A, use: first() }), 'published'],
      [publish('6', { ...B, use: first() }), 'signature_reused'],
      [publish('5', { storefrontUrl: '', use: other() }), 'published'],
      [publish('4', { ...B, use: other() }), 'signature_reused'],
    ]
  },
  'a publish signature is good for further listings for 5 s, wherever the clock is set': () => {
    const at = (seconds: number) => freshUse({ signature: 'shared', now: (1000 + seconds) * SECOND })
    const use = at(0)
    const first = publish('z', { use })
    return [
      [first, 'published'],
      [publish('y', { use: at(5) }), 'published'],
      [publish('x', { use: at(-5) }), 'published'],
      [publish('known'), 'published'],
      ...['known', 'new'].flatMap((id): Step[] => [
        [publish(id, { use: at(6) }), 'signature_reused'],
        [publish(id, { use: at(-6) }), 'signature_reused'],
      ]),
      [first, 'again'],
    ]
  },
  'a publish signature that was first used with an API key is good for that key': () => {
    const use = (seconds: number) => freshUse({ signature: 'of a key', now: (1000 + seconds) * SECOND })
    return [
      [publish('z', { keyId: 7, use: use(0) }), 'published'],
      // Keys are not needed any more.
      [publish('w', { keyId: null, use: use(1) }), 'published'],
      [publish('y', { keyId: 7, use: use(200) }), 'published'],
      [publish('x', { keyId: 8, use: use(1) }), 'signature_reused'],
      [publish('z', { keyId: 8, use: use(1) }), 'signature_reused'],
      [publish('v', { keyId: null, use: use(6) }), 'signature_reused'],
      [publish('u', { keyId: 8, use: use(1) }), 'signature_reused'],
    ]
  },
  'a use that has expired stays used after the clock is set back': () => {
    const use = freshUse({ expiresAt: 200, now: 100 })
    return [
      [publish('L', { use }), 'published'],
      [publish('M', { use: freshUse({ expiresAt: 1300, now: 1200 }) }), 'published'],
      [publish('L', { use: { ...use, body: 'another' } }), 'signature_reused'],
      [publish('N', { use: freshUse({ expiresAt: 201, now: 101 }) }), 'published'],
    ]
  },
  'a signed write has one answer, and its id is good for no other request': () => {
    const use = freshRequest()
    return [
      [reserve(use), 'reserved'],
      [reserve(use), 'in_progress'],
      [reserve({ ...use, hash: 'other' }), 'changed_reuse'],
      [settle(use, BODY), undefined],
      [settle(use, { status: 404, body: '' }), undefined],
      [reserve({ ...use, now: use.now + 1 }), { outcome: 'answered', answer: BODY }],
      [reserve({ ...use, hash: 'other' }), 'changed_reuse'],
    ]
  },
  'a signed write that was given up can be tried again, and is made once': () => {
    const [use, change, removal] = [freshRequest(), freshRequest(), freshRequest()]
    const later = { ...use, now: use.now + LEASE_MICROS }
    const first = publish('L', { use })
    return [
      [reserve(use), 'reserved'],
      [first, 'published'],
      [reserve({ ...use, now: later.now - 1 }), 'in_progress'],
      [reserve(later), 'reserved'],
      [remove('L'), 'removed'],
      [first, 'again'],
      [listing('L'), null],
      [settle(later, null), undefined],
      [reserve(later), 'reserved'],
      // The clock was set back.
      [reserve({ ...later, now: later.now - 60 * SECOND }), 'reserved'],
      [publish('M'), 'published'],
      [reserve(change), 'reserved'],
      [update('M', { status: 'closed', use: change }), 'updated'],
      [update('M', { status: 'open', use: change }), { record: { status: 'closed' } }],
      [reserve(removal), 'reserved'],
      [remove('M', { use: removal }), 'removed'],
      [publish('M'), 'published'],
      [remove('M', { use: removal }), 'removed'],
      [listing('M'), { status: 'open' }],
    ]
  },
  'a record of a signed write lasts as long as the latest try, and its id is never free again': () => {
    const use = freshRequest()
    const at = (now: number, expires: number) => ({
      ...use,
      now: use.now + now,
      expiresAt: use.now + expires,
    })
    return [
      [reserve(at(0, 100)), 'reserved'],
      [settle(use, BODY), undefined],
      [reserve(at(90, 190)), 'answered'],
      [reserve(at(150, 100)), 'answered'],
      [reserve(at(190, 290)), 'changed_reuse'],
    ]
  },
  'a publisher that replaces its identity keeps id and listings, and both act until the overlap ends': () => {
    const use = freshRequest()
    const at = (seconds: number) => freshUse({ now: use.now + seconds * SECOND })
    const rotation = rotate('n', [ALICE, CAROL], { use })
    return [
      [publish('L', A), 'published'],
      [publish('B', { identity: BOB }), 'published'],
      [rotation, { outcome: 'recorded', rotation: { appliedAt: use.now, retiredAt: null } }],
      [rotation, 'again'],
      [rotate('n', [ALICE, CAROL]), { outcome: 'recorded', rotation: { appliedAt: use.now } }],
      [publish('M', { identity: CAROL, use: at(1) }), { record: { publisherId: 1 } }],
      [publish('L', { use: at(49), ...B }), 'published'],
      [publish('N', { use: at(50) }), 'retired'],
      [publish('L', { use: at(50) }), 'retired'],
      [update('L', { use: at(50) }), 'not_owner'],
      [remove('L', { identity: CAROL, use: at(60) }), 'removed'],
      [publishers, ['1 ed25519 carol https://b.example', '2 eip191 0xb0b ']],
    ]
  },
  'rotations that contradict an earlier one, or an identity that is taken, change nothing': () => {
    const now = nowMicros()
    const at = (seconds = 0) => ({ use: freshRequest({ now: now + seconds * SECOND }) })
    return [
      [publish('L'), 'published'],
      [publish('B', { identity: BOB }), 'published'],
      [rotate('n', [ALICE, CAROL], { publisherId: 3 }), 'publisher_not_found'],
      [rotate('n', [CAROL, ALICE], at()), 'not_primary'],
      [rotate('n', [ALICE, BOB], at()), 'bound'],
      [rotate('n', [ALICE, CAROL], at()), 'recorded'],
      [rotate('n', [ALICE, DAN], at()), 'nonce_mismatch'],
      [rotate('m', [CAROL, DAN], at()), 'overlap_active'],
      [rotate('m', [CAROL, ALICE], at(50)), 'bound'],
      [rotate('m', [ALICE, DAN], at(50)), 'not_primary'],
      [retire('x', CAROL, at().use), 'rotation_not_found'],
      [retire('n', CAROL, at().use, 3), 'rotation_not_found'],
      [retire('n', ALICE, at().use), 'not_replacement'],
      [retire('n', CAROL, at().use), 'recorded'],
      [publish('N', { use: freshUse({ now }) }), 'retired'],
      [rotate('m', [CAROL, DAN], { ...at(), seconds: 0 }), 'recorded'],
      [publish('N', { identity: CAROL, use: freshUse({ now }) }), 'retired'],
      [retire('n', CAROL, at().use), 'replaced_again'],
    ]
  },
  'the rotations of a publisher are bounded': () => {
    const key = (n: number) => (n === 0 ? ALICE : { scheme: 'ed25519', identifier: `key-${n}` })
    return [
      [publish('L'), 'published'],
      ...Array.from(
        { length: MAX_ROTATIONS + 1 },
        (_, n): Step => [
          rotate(`n-${n}`, [key(n), key(n + 1)], { seconds: 0 }),
          n < MAX_ROTATIONS ? 'recorded' : 'too_many_rotations',
        ],
      ),
    ]
  },
  'keys are numbered, and keep what they are given': () => [
    [addKey('alice', { scope: 'write', view: 'partners', expiresAt: 1_800_000_000_000_000 }), { id: 1 }],
    [addKey(''), { id: 2, scope: 'read', view: null, expiresAt: null, revokedAt: null }],
    [
      (store) => store.revokeKey(1),
      { id: 1, scope: 'write', view: 'partners', expiresAt: 1_800_000_000_000_000 },
    ],
    ...[0, -1, 999, 2 ** 52].map((id): Step => [(store) => store.revokeKey(id), null]),
    [(store) => store.seedKey(keyNamed('seed')), null],
    [addKey('bob'), { id: 3 }],
  ],
  'a key that is replaced expires at the given time or before': () => {
    const replace =
      (endsAt: number, id = 1): Act =>
      (store) =>
        store.replaceKey(id, endsAt, keyNamed('new', { view: 'eu' }))
    const key: Act = async (store) => (await Picture.of(store)).keys.get(1)
    return [
      [addKey('alice', { view: 'partners' }), { id: 1 }],
      [replace(2000), { id: 2, name: 'new', view: 'eu', expiresAt: null }],
      [key, { view: 'partners', expiresAt: 2000, revokedAt: null }],
      [replace(3000), { id: 3 }],
      [key, { expiresAt: 2000 }],
      [(store) => store.revokeKey(1), { id: 1 }],
      [replace(1), null],
      [replace(1, 999), null],
    ]
  },
  'blocks are numbered, and end once, or when they are due': () => {
    const end =
      (id: number, onlyIfDue = false): Act =>
      async (store) => {
        const block = await store.endBlock(id, onlyIfDue)
        return block && block.endedAt !== null
      }
    return [
      [addBlock({}), { id: 1, ...BLOCK, endedAt: null }],
      [addBlock({ source: 'eu', until: 1 }), { id: 2, source: 'eu', until: 1 }],
      [addBlock({ until: Number.MAX_SAFE_INTEGER }), { id: 3 }],
      [end(1, true), false],
      [end(2, true), true],
      [end(3, true), false],
      [end(3), true],
      [end(4), null],
    ]
  },
}

const hasUse =
  (operation: 'publish' | 'update', listingId: string, { signature }: { signature: string }): Act =>
  (store) =>
    store.hasUse({ operation, listingId, signature })

const addKey =
  (name: string, overrides: Partial<NewKey> = {}): Act =>
  (store) =>
    store.addKey(keyNamed(name, overrides))

const BLOCK: NewBlock = {
  subject: { kind: 'publisher', publisher: `0x${'a'.repeat(40)}` },
  source: null,
  reason: 'took the deposit, “ticket 812”\n',
  by: 'operator',
  until: null,
}

const addBlock =
  (overrides: Partial<NewBlock>): Act =>
  (store) =>
    store.addBlock({ ...BLOCK, ...overrides })

/** Outcomes of what changes the market. */
const CHANGES: readonly unknown[] = ['published', 'updated', 'removed', 'recorded']

export function rulesContract(name: string, open: OpenStore): void {
  for (const [title, steps] of Object.entries(RULES))
    test(`${name}: ${title}`, async (t) => {
      const { store } = await open(t)
      const answers = new Map<Act, unknown>()
      for (const [n, [act, expected]] of steps().entries()) {
        const about = `${title}, step ${n + 1}`
        const before = await loaded(store)
        const answer = await act(store)
        const { outcome } = Object(answer)
        if (expected === 'again') t.deepEqual(answer, answers.get(act), about)
        else if (typeof expected === 'string') t.is(outcome, expected, about)
        else if (Object(expected) === expected && !Array.isArray(expected))
          t.like(answer, expected as object, about)
        else t.deepEqual(answer, expected, about)
        if (expected === 'again' || (typeof expected === 'string' && !CHANGES.includes(expected)))
          t.deepEqual((await loaded(store)).changes, before.changes, about)
        answers.set(act, answer)
      }
    })

  test(`${name}: a row beyond MAX_LISTING_BYTES is refused and changes nothing`, async (t) => {
    const { store } = await open(t)
    const publish = (room: number) => {
      const fields = { offerResource: '{"é":"\\u00e9"}', settlementOptions: `"${'x'.repeat(room)}"` }
      return store.publish(
        publishOf('é"\\', { storefrontUrl: 'https://é.example', status: 'closed', fields }),
      )
    }
    const bytes = async () => {
      const { publishers, listings } = await Picture.of(store)
      return rowBytes(listings.get('é"\\')!, publishers.get(1)!.storefrontUrl)
    }
    t.deepEqual(await publish(MAX_LISTING_BYTES), { outcome: 'too_large' })
    t.deepEqual((await loaded(store)).changes, [])
    t.is((await publish(0)).outcome, 'published')
    const room = MAX_LISTING_BYTES - (await bytes())
    t.is((await publish(room)).outcome, 'published')
    t.is(await bytes(), MAX_LISTING_BYTES)
    const full = await loaded(store)
    t.deepEqual(await publish(room + 1), { outcome: 'too_large' })
    const kept = publishOf('é"\\', { fields: { acceptedEscrows: '[0]' } })
    t.deepEqual(await store.publish(kept), { outcome: 'too_large' })
    t.deepEqual(await store.update(updateOf('é"\\', { oracleAddress: '"0x1"' })), { outcome: 'too_large' })
    t.deepEqual(await loaded(store), full)
    t.is((await store.update(updateOf('é"\\', { status: 'expired' }))).outcome, 'updated', 'it can be closed')
  })

  test(`${name}: a listing that would not pass the check of its command is not written`, async (t) => {
    const { store } = await open(t)
    const seen = new Set<string>()
    const violations = [{ path: '<root>', message: 'no' }]
    const check = ({ demands, oracleAddress }: ListingFields, storefrontUrl: string | null) => {
      seen.add([demands, oracleAddress, storefrontUrl].join(' '))
      return demands === '[1]' ? violations : []
    }
    const unfit = { outcome: 'unfit', violations }
    t.deepEqual(await store.publish(publishOf('L', { ...A, fields: { demands: '[1]' }, check })), unfit)
    t.deepEqual((await loaded(store)).changes, [])
    await published(store, publishOf('L', { ...A, check }))
    await published(store, publishOf('L', { fields: { demands: '[1]' } }))
    const before = await loaded(store)
    t.deepEqual(await store.update(updateOf('L', { oracleAddress: '"0x1"', check })), unfit)
    t.is((await store.publish(publishOf('L', { identity: BOB, check }))).outcome, 'not_owner')
    t.deepEqual(await loaded(store), before)
    const [first, second, third] = seen
    t.deepEqual([first, second], ['[1] null https://a.example', '[] null https://a.example'])
    t.is(third, '[1] "0x1" https://a.example')
  })

  test(`${name}: writes at once give a listing one owner, a publisher its bound, and a store one seeded key`, async (t) => {
    const { store } = await open(t)
    const claims = Array.from({ length: 20 }, (_, n) =>
      store.publish(publishOf('L', { identity: { scheme: 'eip191', identifier: `0x${n}` } })),
    )
    const bounded = Array.from({ length: 30 }, (_, n) =>
      store.publish(publishOf(`L${n}`, { maxListings: 7 })),
    )
    const seeds = Array.from({ length: 5 }, () => store.seedKey(keyNamed('bootstrap')))
    const count = async (all: Promise<{ outcome: string }>[]) =>
      (await Promise.all(all)).filter(({ outcome }) => outcome === 'published').length
    t.is(await count(claims), 1)
    t.is(await count(bounded), 7)
    t.is((await Promise.all(seeds)).filter((key) => key !== null).length, 1)
    const { publishers, listings, keys } = await Picture.of(store)
    t.deepEqual([publishers.size, listings.size, keys.size], [2, 8, 1])
  })

  test(`${name}: times are microseconds, and rise strictly with every mutation`, async (t) => {
    const { store } = await open(t)
    const before = nowMicros()
    const all = Array.from({ length: 50 }, (_, n) => published(store, publishOf(`L${n}`)))
    const times = (await Promise.all(all)).map(({ createdAt }) => createdAt)
    const key = await store.addKey(keyNamed('k'))
    const { createdAt, updatedAt } = await published(store, publishOf('L0'))
    t.is(new Set(times).size, 50)
    t.is(createdAt, times[0]!)
    t.true(before <= Math.min(...times) && Math.max(...times) < key.createdAt && key.createdAt < updatedAt)
    t.true(updatedAt < nowMicros() + 1000, 'it is of a whole millisecond')
    const revoked = await store.revokeKey(key.id)
    t.true(revoked!.revokedAt! > updatedAt)
    t.deepEqual(await store.revokeKey(key.id), revoked)
  })

  test(`${name}: a clock that was ahead refuses no other signature, and its own uses stay used`, async (t) => {
    const { store } = await open(t)
    const start = nowMicros()
    const at = (seconds: number) => {
      const now = start + seconds * SECOND
      return freshUse({ now, expiresAt: now + USE_SECONDS * SECOND })
    }
    const used = { before: at(0), ahead: at(DAY), 'ahead later': at(DAY + 720) }
    for (const [id, use] of Object.entries(used)) await published(store, publishOf(id, { use }))
    await published(store, publishOf('right again', { use: at(20) }))
    await published(store, publishOf('right again', { use: at(800) }))
    await store.ping()
    const rows = await loaded(store)
    for (const [name, seconds] of [
      ['before', 20],
      ['ahead', DAY - 300],
      ['ahead later', DAY + 420],
    ] as const) {
      const use = { ...used[name], body: 'another', now: start + seconds * SECOND }
      for (const id of ['before', 'ahead', 'new'])
        t.is((await store.publish(publishOf(id, { use }))).outcome, 'signature_reused', id)
    }
    t.deepEqual(await loaded(store), rows)
    await published(store, publishOf('a day later', { use: at(DAY) }))
  })

  test(`${name}: used signatures are bounded, and what may be a dropped one is refused`, async (t) => {
    const { store } = await open(t, { usesKept: 10 })
    const start = nowMicros()
    const expiring = (seconds: number, now = start) =>
      freshUse({ expiresAt: start + seconds * SECOND, now, signature: `expires after ${seconds} s` })
    const LAST = 1500
    for (let seconds = 10; seconds <= LAST; seconds += 10)
      await published(store, publishOf('L', { use: expiring(seconds) }))
    // Enough of them to drop what is too much.
    for (let n = 0; n < 20; n++)
      await store.remove(removeOf('nothing', { use: expiring(3000, start + 2000 * SECOND) }))
    const outcome = async (seconds: number, signature: string) =>
      (await store.publish(publishOf('M', { use: { ...expiring(seconds), signature } }))).outcome
    for (const seconds of [10, 500, 980])
      t.is(await outcome(seconds, `expires after ${seconds} s`), 'signature_reused', `${seconds}`)
    t.is(await outcome(900, 'unknown'), 'signature_reused')
    t.is(await outcome(LAST + 1, 'unknown'), 'published')
    await t.throwsAsync(store.ping(), {
      code: 'unavailable',
      message: /the clock is \d+ min behind signatures that were used .* is refused; set the clock right/,
    })
  })
}
