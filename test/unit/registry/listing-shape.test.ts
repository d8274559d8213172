import test from 'ava'
import fc from 'fast-check'
import { type JsonObject, parseJson } from '../../../src/json/value.ts'
import { type Candidate, createShapeCheck } from '../../../src/registry/write/listing-shape.ts'
import { jsonText } from '../../helpers/json-text.ts'

const candidate = (members: Partial<Candidate> = {}): Candidate => ({
  listing_id: 'one',
  storefront_url: 'https://a.example/',
  offer_resource: {},
  accepted_escrows: [],
  demands: [],
  max_duration_seconds: null,
  ...members,
})

/** The messages about `offer_resource.x` under a schema of its own. */
function messagesOf(schema: Record<string, unknown>, x: unknown): string[] {
  const offer_resource = { type: 'object', properties: { x: schema } }
  const check = createShapeCheck({ type: 'object', properties: { offer_resource } })
  return check(candidate({ offer_resource: { x } as JsonObject })).map(({ message }) => message)
}

/** One message for each violation: neither the branches of a choice nor the `if` of a condition is one. */
const MESSAGES: [schema: Record<string, unknown>, value: unknown, messages: string[]][] = [
  [{ required: ['a', 'b'] }, {}, ["must have required property 'a'", "must have required property 'b'"]],
  [{ type: 'integer' }, true, ['must be integer']],
  [{ type: 'integer' }, 1.5, ['must be integer']],
  [{ type: 'integer' }, 3600.0, []],
  [{ type: 'integer' }, 2n ** 70n, []],
  [{ maximum: 5 }, 2n ** 70n, ['must be <= 5']],
  [
    { enum: ['nvlink', 'pcie_only'] },
    'zz',
    ['must be equal to one of the allowed values: nvlink, pcie_only'],
  ],
  [{ const: 'a' }, 'b', ['must be equal to constant: a']],
  [{ additionalProperties: false }, { a: 1 }, ['must NOT have additional properties: a']],
  [{ unevaluatedProperties: false }, { a: 1 }, ['must NOT have unevaluated properties: a']],
  [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, ['must NOT have more than 1 characters: ab']],
  [{ contains: { type: 'string' } }, [1], ['must contain at least 1 valid item(s)']],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 5, ['must match a schema in anyOf']],
  [{ oneOf: [{ type: 'string' }, { type: 'array' }] }, 5, ['must match exactly one schema in oneOf']],
  [{ if: { type: 'string' }, else: { minimum: 2 } }, 1, ['must be >= 2']],
  [{ properties: { anyOf: { type: 'string' } } }, { anyOf: 5 }, ['must be string']],
  [{ properties: { a: false } }, { a: 1 }, ['boolean schema is false']],
  [{ format: 'uri' }, 'no uri', []],
  [{ properties: { net: { properties: { speed: { type: 'integer' } } } } }, { net: { speed: null } }, []],
]

test('listing shape: a violation has the message of ajv, and the name that it lacks', (t) => {
  for (const [schema, value, messages] of MESSAGES)
    t.deepEqual(messagesOf(schema, value), messages, JSON.stringify(schema))
})

const SHAPE = {
  type: 'object',
  required: ['storefront_url', 'offer_resource'],
  properties: {
    offer_resource: { type: 'object', required: ['gpu_model'], properties: { sla: { type: 'number' } } },
    accepted_escrows: { items: { required: ['chain_name'], properties: { chain_name: { type: 'string' } } } },
    max_duration_seconds: { type: 'integer', minimum: 1 },
    listing_id: {},
    storefront_url: {},
    demands: {},
  },
  additionalProperties: false,
}

test('listing shape: all violations are listed by dotted path, in path order', (t) => {
  const escrows = Array.from({ length: 11 }, (_, n) => ({ chain_name: n === 2 || n === 10 ? n : 'anvil' }))
  const odd = { storefront_url: null, accepted_escrows: escrows, max_duration_seconds: 0 }
  t.deepEqual(
    createShapeCheck(SHAPE)(candidate(odd)).map(({ path }) => path),
    [
      '<root>',
      'accepted_escrows[2].chain_name',
      'accepted_escrows[10].chain_name',
      'max_duration_seconds',
      'offer_resource',
    ],
  )
})

test('listing shape: null members count as absent at every depth', (t) => {
  const check = createShapeCheck(SHAPE)
  const fits = candidate({
    offer_resource: { gpu_model: 'H200', sla: null },
    accepted_escrows: [{ chain_name: 'anvil', rates: null }],
  })
  t.deepEqual(check(fits), [])
  t.deepEqual(check({ ...fits, offer_resource: { gpu_model: null } }), [
    { path: 'offer_resource', message: "must have required property 'gpu_model'" },
  ])
})

test('listing shape: messages stay short for any value', (t) => {
  const check = createShapeCheck({
    properties: { offer_resource: { additionalProperties: false }, demands: { items: { type: 'object' } } },
  })
  const long = { ['x'.repeat(100_000)]: 1 }
  const violations = check(candidate({ offer_resource: long, demands: Array(5000).fill(0) }))
  t.is(violations.length, 1001)
  t.deepEqual(violations.at(-1), { path: '<root>', message: 'and 4001 more violations' })
  t.true(violations.every(({ message }) => message.length < 300))
})

test('listing shape: the check never throws and every message has a path', (t) => {
  const check = createShapeCheck(SHAPE)
  fc.assert(
    fc.property(jsonText(), jsonText(), (offer, escrows) => {
      const violations = check(
        candidate({ offer_resource: parseJson(offer), accepted_escrows: parseJson(escrows) }),
      )
      for (const { path, message } of violations) t.true(path !== '' && message !== '')
    }),
  )
  t.pass()
})
