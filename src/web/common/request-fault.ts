import type { Problem } from './problem.ts'

/** A problem (RFC 9457), or no answer. */
export class RequestFault extends Error {
  /** 0 without an answer. */
  readonly status: number
  readonly problem: Problem

  constructor(status: number, problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.status = status
    this.problem = problem
  }
}
