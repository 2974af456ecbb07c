import { Link } from '@tanstack/react-router';
import { Pencil } from 'lucide-react';
import { useMayChange } from '../api/session.ts';
import { buttonLook } from '../ui/button.tsx';

/** A link to the editor of a resource, in its list. Sessions that may not change anything get none. */
export function EditLink({ to, id }: { to: '/metrics' | '/achievements' | '/points' | '/leaderboards'; id: string }) {
  if (!useMayChange()) return null;
  return (
    <Link to={to} hash={`edit-${id}`} className={`${buttonLook()} max-md:h-11`}>
      <Pencil size={14} aria-hidden /> Edit
    </Link>
  );
}
