"""Wire objects: structs of the fields that somebody reads, and where objects of a kind are found."""
