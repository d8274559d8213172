import type { Problem } from './problem.ts'

/** An answer that is none: a problem of the gateway (RFC 9457), or no answer at all. */
export class RequestFault extends Error {
  /** HTTP; 0 where nothing answered. */
  readonly status: number
  readonly problem: Problem

  constructor(status: number, problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.status = status
    this.problem = problem
  }
}
