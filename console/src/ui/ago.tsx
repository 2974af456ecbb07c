import { ago, moment } from './format.ts';

/** How long ago a time was, with the time itself at the pointer. */
export const Ago = ({ at, className }: { at: string; className?: string }) => (
  <span className={className} title={moment(at)}>
    {ago(at)}
  </span>
);
