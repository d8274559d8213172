import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { safeJson, safeText } from '../domain/safe-text.ts'
import { EntrepotError } from '../errors.ts'
import type { SourceNote } from '../gateway/discovery.ts'
import { parseSafe } from './exact-json.ts'
import { describeCompleteness } from './notices.ts'
import type { ToolAnswer } from './tool.ts'

/** An answer holds its JSON twice: as text, and as structured content. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** Hidden characters: JSON escapes in the text, visible ones in structured content, which clients decode. */
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
