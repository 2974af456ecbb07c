/** Who makes a change, recorded in the audit log. */
export interface Author {
  /** Readable part of the caller's key, or Laurel's own name for changes without a key. */
  who: string;
  /** Address of the client. */
  address?: string | null;
  /** Request ID, as in the answer. */
  requestId?: string | null;
}
