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

/** The messages of Python's jsonschema. */
const SENTENCES: [schema: Record<string, unknown>, value: unknown, messages: string[]][] = [
  [{ required: ['gpu_model'] }, {}, ["'gpu_model' is a required property"]],
  [{ minItems: 1 }, [], ['[] should be non-empty']],
  [{ minLength: 1 }, '', ["'' should be non-empty"]],
  [{ minimum: 0 }, -1, ['-1 is less than the minimum of 0']],
  [{ enum: ['nvlink', 'pcie_only'] }, 'zz', ["'zz' is not one of ['nvlink', 'pcie_only']"]],
  [{ type: 'string' }, 5, ["5 is not of type 'string'"]],
  [{ type: ['integer', 'null'] }, 'a', ["'a' is not of type 'integer', 'null'"]],
  [{ type: 'integer' }, true, ["True is not of type 'integer'"]],
  [{ type: 'integer' }, 1.5, ["1.5 is not of type 'integer'"]],
  [{ type: 'integer' }, 3600.0, []],
  [{ type: 'integer' }, 2n ** 70n, []],
  [{ maximum: 5 }, 2n ** 70n, ['1180591620717411303424 is greater than the maximum of 5']],
  [{ required: ['a', 'b'] }, {}, ["'a' is a required property", "'b' is a required property"]],
  [{ minItems: 2 }, [1], ['[1] is too short']],
  [{ maxItems: 0 }, [1], ['[1] is expected to be empty']],
  [{ maxLength: 1 }, 'ab', ["'ab' is too long"]],
  [{ exclusiveMinimum: 0 }, 0, ['0 is less than or equal to the minimum of 0']],
  [{ exclusiveMaximum: 0 }, 0, ['0 is greater than or equal to the maximum of 0']],
  [{ multipleOf: 2 }, 3, ['3 is not a multiple of 2']],
  [{ pattern: '^0x' }, 'ab', ["'ab' does not match '^0x'"]],
  [{ const: 'a' }, 'b', ["'a' was expected"]],
  [{ uniqueItems: true }, [1, 1], ['[1, 1] has non-unique elements']],
  [{ contains: { type: 'string' } }, [1], ['[1] does not contain items matching the given schema']],
  [{ minProperties: 1 }, {}, ['{} should be non-empty']],
  [{ additionalProperties: false }, { a: 1 }, ["Additional properties are not allowed ('a' was unexpected)"]],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 5, ['5 is not valid under any of the given schemas']],
  [{ oneOf: [{ type: 'string' }, { type: 'array' }] }, 5, ['5 is not valid under any of the given schemas']],
  [{ not: { type: 'integer' } }, 5, ['5 should not be valid under the given schema']],
  [{ if: { type: 'string' }, else: { minimum: 2 } }, 1, ['1 is less than the minimum of 2']],
  [{ properties: { anyOf: { type: 'string' } } }, { anyOf: 5 }, ["5 is not of type 'string'"]],
  [{ properties: { a: false } }, { a: 1 }, ['False schema does not allow 1']],
  [{ type: 'string' }, { a: [true, 'b'] }, ["{'a': [True, 'b']} is not of type 'string'"]],
  [{ format: 'uri' }, 'no uri', []],
  [{ properties: { net: { properties: { speed: { type: 'integer' } } } } }, { net: { speed: null } }, []],
]

for (const [schema, value, messages] of SENTENCES) {
  const shown = JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one))
  test(`${shown} under ${JSON.stringify(schema)} has the message of Python's jsonschema`, (t) => {
    t.deepEqual(messagesOf(schema, value), messages)
  })
}

const SHAPE = {
  type: 'object',
  required: ['storefront_url', 'offer_resource'],
  properties: {
    offer_resource: { type: 'object', required: ['gpu_model'], properties: { sla: { type: 'number' } } },
    accepted_escrows: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['chain_name'], properties: { chain_name: { type: 'string' } } },
    },
    max_duration_seconds: { type: 'integer', minimum: 1 },
  },
  additionalProperties: false,
}
const ROOT = {
  ...SHAPE,
  properties: { ...SHAPE.properties, listing_id: {}, storefront_url: {}, demands: {} },
}

test('listing shape: all violations are listed by dotted path, in path order', (t) => {
  const escrows = Array.from({ length: 11 }, (_, n) => ({ chain_name: n === 2 || n === 10 ? n : 'anvil' }))
  const violations = createShapeCheck(ROOT)(
    candidate({ storefront_url: null, accepted_escrows: escrows, max_duration_seconds: 0 }),
  )
  t.deepEqual(
    violations.map(({ path }) => path),
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
  const check = createShapeCheck(ROOT)
  const fits = candidate({
    offer_resource: { gpu_model: 'H200', sla: null },
    accepted_escrows: [{ chain_name: 'anvil', rates: null }],
    max_duration_seconds: null,
  })
  t.deepEqual(check(fits), [])
  t.deepEqual(check({ ...fits, offer_resource: { gpu_model: null } }), [
    { path: 'offer_resource', message: "'gpu_model' is a required property" },
  ])
})

test('listing shape: a candidate has the six members of the protocol', (t) => {
  t.deepEqual(
    createShapeCheck({ ...ROOT, properties: {} })(candidate())
      .map(({ message }) => message)
      .sort(),
    [
      "Additional properties are not allowed ('accepted_escrows' was unexpected)",
      "Additional properties are not allowed ('demands' was unexpected)",
      "Additional properties are not allowed ('listing_id' was unexpected)",
      "Additional properties are not allowed ('offer_resource' was unexpected)",
      "Additional properties are not allowed ('storefront_url' was unexpected)",
    ],
  )
})

test('listing shape: messages stay short for any value', (t) => {
  const check = createShapeCheck({
    properties: { offer_resource: { type: 'string' }, demands: { items: { type: 'object' } } },
  })
  const long = { a: 'x'.repeat(100_000), b: Array.from({ length: 1000 }, (_, n) => n) }
  const violations = check(candidate({ offer_resource: long, demands: Array(5000).fill(0) }))
  t.is(violations.length, 1001)
  t.deepEqual(violations.at(-1), { path: '<root>', message: 'and 4001 more violations' })
  t.true(violations.every(({ message }) => message.length < 300))
})

test('listing shape: the check never throws and every message has a path', (t) => {
  const check = createShapeCheck(ROOT)
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
