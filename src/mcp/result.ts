import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { safeJson, safeText } from '../domain/safe-text.ts'
import { EntrepotError } from '../errors.ts'
import type { SourceNote } from '../gateway/discovery.ts'
import { parseSafe } from './exact-json.ts'
import { describeCompleteness } from './notices.ts'
import type { ToolAnswer } from './tool.ts'

/** Longest JSON of an answer, which is sent twice: as text, and as structured content. */
const MAX_ANSWER_BYTES = 1024 * 1024

/**
 * An answer as agents read it. The text is the notice, then the JSON of every listing as its seller published it; hidden
 * characters in it are JSON escapes, so its value is exact. The structured content is decoded by the client: hidden
 * characters in it are visible escapes, and its numbers keep their digits.
 */
export function resultOf({ notice, json }: ToolAnswer): CallToolResult {
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_ANSWER_BYTES)
    throw new EntrepotError(
      'too_large',
      `The answer would be ${bytes} bytes, more than ${MAX_ANSWER_BYTES}: ask with a smaller limit`,
    )
  return {
    content: [text(notice), { type: 'text', text: safeJson(json) }],
    structuredContent: { notice: safeText(notice), ...(parseSafe(json) as object) },
  }
}

/** The result of a call that failed: the reason, and which sources are missing. */
export function failureOf({ message, errors, members }: EntrepotError): CallToolResult {
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

function text(words: string): { type: 'text'; text: string } {
  return { type: 'text', text: safeText(words) }
}
