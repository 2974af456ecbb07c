import { ArrowLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { useShow } from './controls.tsx';

/** A link to one resource of a list. */
export function Chosen({ id, name }: { id: string; name: string }) {
  const show = useShow();
  return (
    <button type="button" className="text-left font-medium text-accent hover:underline" onClick={() => show({ id })}>
      {name}
    </button>
  );
}

/** The name of the shown resource, a link back to the list, and one to the resource itself. */
export function Back({ to, name, children }: { to: string; name: string; children?: ReactNode }) {
  const show = useShow();
  return (
    <h2 className="flex flex-wrap items-center gap-2 text-base font-semibold">
      <button
        type="button"
        className="inline-flex h-9 items-center gap-1 font-normal text-muted hover:text-text max-md:h-11"
        onClick={() => show({ id: undefined })}
      >
        <ArrowLeft size={14} aria-hidden /> {to}
      </button>
      {name}
      <span className="ml-auto flex gap-2 font-normal">{children}</span>
    </h2>
  );
}
