import { Link } from '@tanstack/react-router';

export const UserLink = ({ id }: { id: string }) => (
  <Link to="/users/$id" params={{ id }} className="font-medium text-accent hover:underline">
    {id}
  </Link>
);
