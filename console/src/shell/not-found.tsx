import { Link } from '@tanstack/react-router';
import { Screen } from '../ui/parts.tsx';

export const NotFound = () => (
  <Screen title="There is no such page">
    <p>
      <Link to="/" className="text-accent underline">
        To the overview
      </Link>
    </p>
  </Screen>
);
