import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { safeJson, safeText } from '../domain/safe-text.ts'
import { EntrepotError } from '../errors.ts'
import type { SourceNote } from '../gateway/discovery.ts'
import { parseExact } from './exact-json.ts'
import { describeCompleteness } from './notices.ts'
import type { ToolAnswer } from './tool.ts'

/** Longest JSON of an answer, which is sent twice: as text, and as structured content. */
export const MAX_ANSWER_BYTES = 1024 * 1024

/**
 * An answer as agents read it. The text is the words, and then the JSON with every listing as it was published, but
 * for characters that hide or deceive, which are written as escapes: the same value. The structured content is the
 * same JSON; since it is written anew, its strings may be escaped otherwise, but its numbers keep their digits.
 */
export const resultOf = ({ notice, json }: ToolAnswer): CallToolResult => {
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_ANSWER_BYTES)
    throw new EntrepotError(
      'too_large',
      `The answer would be ${bytes} bytes, more than ${MAX_ANSWER_BYTES}: ask with a smaller limit`,
    )
  return {
    content: [text(notice), { type: 'text', text: safeJson(json) }],
    structuredContent: { notice, ...(parseExact(json) as object) },
  }
}

/** A question that was not answered: why, and what that does not mean. */
export const failureOf = ({ message, errors, members }: EntrepotError): CallToolResult => {
  const reasons = errors.map(({ path, message }) => ` ${path}: ${message}.`).join('')
  if (!Array.isArray(members.sources))
    return { isError: true, content: [text(`Not answered: ${message}.${reasons}`)] }
  const completeness = { complete: false, sources: members.sources as SourceNote[] }
  return {
    isError: true,
    content: [
      text(`Not answered: ${message}. ${describeCompleteness(completeness)}`),
      { type: 'text', text: safeJson(JSON.stringify(completeness)) },
    ],
  }
}

const text = (words: string): { type: 'text'; text: string } => ({ type: 'text', text: safeText(words) })
