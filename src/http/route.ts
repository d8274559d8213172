import type { z } from 'zod'
import type { Gate, Handler } from './exchange.ts'

export type Route = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `:name` is a parameter, `*name` one that may hold slashes. */
  path: string
  gate: Gate
  handle: Handler
  summary: string
  description?: string
  parameters?: readonly Parameter[]
  body?: z.ZodType
  answers: Readonly<Record<number, AnswerShape>>
  /** Statuses of problems, without those of gate and body. */
  refusals?: readonly number[]
  isUnlisted?: boolean
}

export type AnswerShape = {
  description: string
  schema?: z.ZodType
  /** Default `application/json`. */
  type?: string
}

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
