import type { z } from 'zod'
import type { Gate, Handler } from './exchange.ts'

/** One row of the route table: what is served, to whom, and what `openapi.json` and `docs/api.md` say about it. */
export type Route = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With `:name` for a parameter, `*name` for one that may hold slashes. */
  path: string
  gate: Gate
  handle: Handler
  /** One line, without a full stop. */
  summary: string
  /** What the line leaves out: plain sentences. */
  description?: string
  parameters?: readonly Parameter[]
  /** What the body is checked against. */
  body?: z.ZodType
  /** By status: what a success is. */
  answers: Readonly<Record<number, AnswerShape>>
  /** Statuses of the problems that are this route's own, beyond those that its gate and its body bring. */
  refusals?: readonly number[]
  /** Left out of the documents: nothing that a program would ask for. */
  isUnlisted?: boolean
}

export type AnswerShape = {
  description: string
  /** `undefined` for an answer without a body. */
  schema?: z.ZodType
  /** Default `application/json`. */
  type?: string
}

/** A parameter in the words of OpenAPI 3.1. */
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  description: string
  /** JSON Schema 2020-12. */
  schema: Readonly<Record<string, unknown>>
}

export type IntegerParameter = Parameter & {
  schema: { type: 'integer'; minimum?: number; maximum?: number; default?: number }
}
