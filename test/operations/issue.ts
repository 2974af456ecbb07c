import type { AdminIssue } from '../../src/domain/administration/admin.ts';

type Verdict = Pick<AdminIssue, 'severity' | 'message' | 'level' | 'reason'>;

/** The contents of an issue, under the current names and those that older clients read. */
export const says = (severity: 'error' | 'warning', message: string): Verdict => ({
  severity,
  message,
  level: severity,
  reason: message,
});
