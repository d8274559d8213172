import test from 'ava'
import fc from 'fast-check'
import { renderFilterSpec } from '../../../src/filter-spec/filter.ts'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { parseTest } from '../../../src/filter-spec/operations/operations.ts'
import { parseJson } from '../../../src/json/value.ts'
import {
  type Control,
  canChoose,
  canShow,
  controlsOf,
  faultIn,
  rangeFault,
  readChoices,
  readExclusions,
  readRange,
  toggleChoice,
  writeChoices,
  writeExclusions,
  writeRange,
} from '../../../src/web/board/filters/controls.ts'

const spec = readFilterSpec('config/filter-spec.yaml')
const controls = controlsOf(parseJson(renderFilterSpec(spec)))
const control = (name: string): Control => controls.find((one) => one.name === name)!

test('controls: every filter of our vocabulary has one of the right kind', (t) => {
  t.deepEqual(
    controls.map(({ name }) => name),
    [...spec.filters.keys()],
  )
  t.true(control('gpu_interconnect').choices.includes('nvlink'))
  t.like(control('region'), { kind: 'text', choices: [] })
  t.like(control('static_ip'), { kind: 'flag' })
  const minimum = { kind: 'range', bound: 'lower_bound', label: 'vCPUs', valueType: 'integer' } as const
  t.like(control('vcpu_count_min'), minimum)
  t.like(control('token_exclude'), { kind: 'exclusions', keepsMissing: true })
  t.like(control('has_oracle'), { kind: 'presence' })
})

test('controls: name the Registries of foreign filters, accept a malformed spec', (t) => {
  const colour = { name: 'colour', path: '$.x', op: 'in', value_type: 'string', registries: ['east'] }
  const [foreign, odd] = controlsOf({ filters: [colour, 7] })
  t.deepEqual(foreign?.registries, ['east'])
  t.is(odd?.name, '')
  for (const body of [null, [], { filters: {} }, { listing_shape: [], filters: [{ path: '$.__proto__.x' }] }])
    t.notThrows(() => controlsOf(body))
})

test('controls: the vocabulary reads what they write, and they show it again', (t) => {
  const choices = control('gpu_interconnect').choices
  fc.assert(
    fc.property(fc.subarray([...choices], { minLength: 1 }), (chosen) => {
      const value = writeChoices(chosen)!
      const parsed = parseTest(spec.filters.get('gpu_interconnect')!, value)
      t.deepEqual(parsed, { op: 'in', values: new Set(chosen) })
      t.deepEqual(readChoices(value), chosen)
      t.true(canShow(control('gpu_interconnect'), value))
    }),
  )
  const end = fc.option(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String), { nil: '' })
  fc.assert(
    fc.property(end, end, (low, high) => {
      const value = writeRange({ low, high }, 'lower_bound')
      fc.pre(value !== null)
      const parsed = parseTest(spec.filters.get('vcpu_count_min')!, value)
      if (parsed.op !== 'range') throw new Error(`${value} is not a range`)
      t.deepEqual(
        [parsed.low, parsed.high].map((bound) => String(bound?.value ?? '')),
        [low, high],
      )
      t.deepEqual(readRange(value, 'lower_bound'), { low, high })
    }),
  )
  t.is(writeExclusions('0xa, 0xb,'), 'not_in:[0xa,0xb]')
  t.is(readExclusions('not_in:[0xa,0xb]'), '0xa, 0xb')
  t.is(writeExclusions(' , '), null)
})

test('controls: recognise values that they cannot show', (t) => {
  for (const [name, value, isShown] of [
    ['gpu_interconnect', 'Unheard Of', false],
    ['vcpu_count_min', 'range:(1,2)', false],
    ['vcpu_count_min', 'range:(,2]', true],
    ['static_ip', 'yes', false],
    ['has_oracle', 'exists:1', false],
    ['token_exclude', '0xa', false],
    ['region', 'in:[a,b]', true],
  ] as const)
    t.is(canShow(control(name), value), isShown, `${name}=${value}`)
})

test('controls: a value that cannot be sent has a reason', (t) => {
  t.is(faultIn('8', 'integer'), null)
  for (const text of ['abc', '1,000', '2.5']) t.regex(faultIn(text, 'integer') ?? '', /whole number/)
  t.regex(faultIn('99.', 'number') ?? '', /number/)
  t.regex(faultIn('bob', 'address') ?? '', /40 hexadecimal digits/)
  t.is(rangeFault({ low: '2', high: '8' }, 'low', 'integer'), null)
  t.is(rangeFault({ low: 'abc', high: '' }, 'high', 'integer'), null, 'the other end is at fault')
  t.regex(rangeFault({ low: '8', high: '2' }, 'high', 'integer') ?? '', /above the upper end/)
})

test('controls: choices combine, as a JSON array where one of them has a comma', (t) => {
  t.is(toggleChoice(['H100'], 'H200'), 'in:[H100,H200]')
  t.is(toggleChoice(['H100', 'H200'], 'H100'), 'H200')
  t.is(toggleChoice(['H200'], 'H200'), null)
  const both = toggleChoice(['Berlin, DE'], 'Tokyo, JP')!
  t.is(both, 'in:["Berlin, DE","Tokyo, JP"]')
  t.deepEqual(readChoices(both), ['Berlin, DE', 'Tokyo, JP'])
  t.is(toggleChoice(readChoices(both), 'Berlin, DE'), 'Tokyo, JP')
  const bracketed = toggleChoice(['8x [SXM]'], 'H200')!
  t.is(bracketed, 'in:[8x [SXM],H200]', 'an array without a comma is read as pieces')
  t.deepEqual(readChoices(bracketed), ['8x [SXM]', 'H200'])
  t.false(canChoose('exists:true'))
})
