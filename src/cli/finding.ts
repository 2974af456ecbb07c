/** A result of `laurel doctor`. */
export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  found: string;
  advice?: string;
}
