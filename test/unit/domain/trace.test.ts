import test from 'ava'
import fc from 'fast-check'
import { MAX_STATE_LENGTH, readTrace, traceHeaders } from '../../../src/domain/trace.ts'

const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const PARENT = `00-${ID}-${SPAN}-01`

test('trace: a trace context that was read is sent on', (t) => {
  for (const headers of [
    { traceparent: PARENT },
    { traceparent: `00-${ID}-${SPAN}-00` },
    { traceparent: PARENT, tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,1a@dd=s:1;t.dm:x' },
  ])
    t.deepEqual(traceHeaders(readTrace(headers.traceparent, headers.tracestate)), headers)
  t.deepEqual(traceHeaders(undefined), {})
  const later = readTrace(`cc-${ID}-${SPAN}-09-what-the-future-will-be-like`, undefined)
  t.deepEqual(traceHeaders(later), { traceparent: PARENT }, 'a later version is read as 00')
})

test('trace: a malformed traceparent is ignored', (t) => {
  for (const traceparent of [
    '',
    'hello',
    PARENT.toUpperCase(),
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${ID}-${'0'.repeat(16)}-01`,
    `ff-${ID}-${SPAN}-01`,
    `${PARENT}-more`,
    `00-${ID}-${SPAN}`,
    `${PARENT}, ${PARENT}`,
    `00-${ID}-${SPAN}-0g`,
    `${PARENT}\r\nX-Evil: 1`,
    `01-${ID}-${SPAN}-01-${'x'.repeat(600)}`,
  ])
    t.is(readTrace(traceparent, undefined), undefined, traceparent)
})

test('trace: a tracestate that is malformed, repeats a member or has too many is dropped', (t) => {
  const many = Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(',')
  for (const tracestate of ['', 'novalue', 'a=1,a=2', 'A=1', 'a=b\u00e9', 'a=1\u0000', many])
    t.is(readTrace(PARENT, tracestate)?.state, '', tracestate)
})

test('trace: headers that are sent on are well-formed and bounded, whatever was read', (t) => {
  const text = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.constantFrom('a=1', 'vendor=opaque', 't@v=x', `long=${'x'.repeat(200)}`, ' ', '='),
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.constant(PARENT), fc.string()),
      fc.array(text, { maxLength: 40 }).map((members) => members.join(',')),
      (traceparent, tracestate) => {
        const sent = traceHeaders(readTrace(traceparent, tracestate))
        const { traceparent: parent = PARENT, tracestate: state = 'a=1' } = sent as Record<string, string>
        t.regex(parent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
        t.true(state.length <= MAX_STATE_LENGTH && state.length > 0)
        t.regex(state, /^[\x20-\x7e]+$/)
        t.true(state.split(',').every((member) => /^[^=]+=.+$/.test(member)))
      },
    ),
  )
})
