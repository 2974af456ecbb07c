/** Who makes a change, for the audit log, and where from. */
export interface Author {
  /** The readable part of the key that asks for it, or what Laurel calls itself where no key does. */
  who: string;
  /** The address that the request came from. */
  address?: string | null;
  /** The request's ID, as its answer names it. */
  requestId?: string | null;
}
